"""What the name of a column says of it, in English, German, French, Spanish, Italian, Portuguese and Polish."""

from __future__ import annotations

import re

from bomi.space import units


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


IDENTIFIER_NAME = _pattern(
    r"(?:exp(?:eriment|\.)?|run|trial|test|sample|specimen|entry|row|record|versuche?s?|proben?|lauf|zeile|essai|",
    r"échantillon|echantillon|expérience|manip|ensayo|muestra|corrida|experimento|prueba|prova|campione|esperimento|",
    r"ensaio|amostra|próby?|próbka|doświadczenie)",
    r"[\s._-]*(?:id|no\.?|nr\.?|num(?:ber|mer|éro|ero)?\.?|n°|nº|#|name|code|nummer)?",
    r"|id|uid|#|no\.?|nr\.?|n°|nº|lfd\.? ?nr\.?|number|nummer|numéro|número|num\.?|index|idx|key|label|barcode",
    r"|std\.? ?order|run ?order|order|unnamed: 0",
)
LABEL_NAME = _pattern(
    r"(?:operator|person|who|author|user|technician|analyst|initials|experimenter|bediener|mitarbeiter|prüfer|",
    r"bearbeiter|opérateur|operateur|technicien|operador|técnico|analista|operatore|tecnico|lot|batch|chargen?|lote|",
    r"lotto|partia|well|plate|position|pos\.?|slot|plot|parzelle|parcelle|parcela|parcella|poletko|block|replicate|",
    r"rep\.?|wdh\.?|wiederholung|répétition|repetición|doi|reference|",
    r"ref\.?|source|quelle|file|filename|datei|fichier|archivo|url|link)(?:[\s._-]*(?:id|no\.?|nr\.?|number|#|name))?",
)
DATE_NAME = _pattern(
    r"(?:date|day|datum|tag|jour|fecha|día|timestamp|time ?stamp|zeitstempel|start(?:ed)?(?: ?time)?|uhrzeit|year|",
    r"month|week|kw)(?:[\s._-].*)?|.*(?:date|datum|fecha|timestamp)",
)
NOTE_NAME = _pattern(
    r"notes?|comments?|remarks?|observations?|description|bemerkung(?:en)?|kommentare?|anmerkung(?:en)?|notizen?|",
    r"remarques?|commentaires?|observaciones|observación|comentarios?|notas?|osservazioni|commenti|observações|",
    r"uwagi|stat(?:us|e)|done|checked|ok\??",
)
SPREAD_NAME = _pattern(
    r"(?P<of>.+?)[\s._-]*(?:sd|std|stdev|std\.? ?dev\.?|s\.d\.|sem|se|error|err|stabw|±|\+/-|unc\.?|uncertainty|σ)",
    r"|(?:sd|std|stdev|sem|error|err)[\s._-]+(?:of[\s._-]+)?(?P<to>.+)",
    r"|sd|s\.d\.|std\.? ?dev\.?|stdev|sem|±|\+/-|stabw\.?|écart[- ]type|desv\.? ?est\.?|dev\.? ?std\.?|",
    r"desvio(?: padrão)?",
)
_MAXIMIZE = _pattern(
    r"yield|strength|titer|titre|hardness|toughness|conversion|selectivity|\bconv\b|efficien|purity|activity|productivity|",
    r"recovery|\buts\b|\bhv\b|\bhrc\b|\bhbw?\b|\bys\b|\brm\b|\brp\b|elongation|ductil|conductiv|mobility|lifetime|capacity|\bpce\b|\bvoc\b|",
    r"\bjsc\b|\bff\b|\bee\b|growth rate|biomass|biomasa|viabilit|signal|\bsnr\b|\bgain\b|accuracy|score|quality|",
    r"adhesion|modulus|η|gloss|transmi|taste|sensory|acceptance|acceptab|liking|response|objective|fitness|reward|",
    r"\bacc ?$|\bauc\b|survival|salt spray|durabilit|case depth|",
    r"ausbeute|festigkeit|härte(?!r)|haerte(?!r)|umsatz|selektivität|reinheit|wirkungsgrad|ertrag|zähigkeit|dehnung|aktivität|",
    r"geschmack|glanz|vitalität|viabilität|haltbarkeit|genauigkeit|akzeptanz|überleben|\beht\b|",
    r"rendement|\brend\b|résistance|dureté|pureté|sélectivité|efficacité|activité|brillan|brillance|viabilité|exactitude|",
    r"adhérence|acceptabilité|^note $|",
    r"rendimiento|resistencia|dureza|pureza|conversión|selectividad|eficiencia|actividad|brillo|adherencia|viabilidad|",
    r"exactitud|aceptaci|aceptabilidad|puntaje|puntuaci|",
    r"\bresa\b|durezza|resistenza|purezza|conversione|selettività|efficienza|attività|brillantezza|adesione|aderenza|",
    r"punteggio|rendimento|dureza|resistência|pureza|conversão|seletividade|eficiência|atividade|aderência|^nota |",
    r"wydajność|twardość|wytrzymałość|czystość|konwersja|selektywność|aktywność|\bplon\b|przyczepność|ocena",
)
_MINIMIZE = _pattern(
    r"impurit|cost|loss|defect|roughness|\bra\b|\brz\b|porosity|instabilit|degradation|wear|corrosion|error|rmse|\bmse\b|residual|waste|scrap|",
    r"\berr\b|shrinkage|warpage|\bleak|noise|byproduct|by product|turbidity|emission|crack|resistivity|sheet res|",
    r"verunreinigung|nebenprodukt|kosten|verlust|ausschuss|rauheit|rauigkeit|porosität|verschleiß|fehler|schwindung|",
    r"verzug|^voids?\b|\brut\b|rutting|impureté|coût|perte|défaut|rugosité|porosité|usure|",
    r"impureza|costo|coste|pérdida|perdida|defecto|rugosidad|porosidad|desgaste|",
    r"impurezz|perdita|difett|scarto|rugosità|porosità|usura|ritiro|custo|\bperda|defeito|rugosidade|porosidade|",
    r"zanieczyszcz|koszt|\bstrat[ay]\b|chropowatość|porowatość|zużycie|skurcz|friabil|moisture loss|drying loss|",
    r"(?:water|moisture) (?:absorption|uptake)|wasseraufnahme|absorption d eau|absorción de agua|assorbimento d acqua|",
    r"absorção de água|nasiąkliwość",
)
_MEASURED = _pattern(
    r"\bfinal\b|\bfinale?s?\b|\bpdi\b|\bm[nwz]\b.*\bmol\b|molecular weight|molmasse|expression|absorbance|",
    r"fluores[cz]en|\bende? ?$|extinktion|\bod ?600\b|viscosit|viskosität|viscosidad|^(?:relative )?density|^dichte|",
    r"etch rate|ätzrate|dep(?:osition)? rate|removal rate|reaction rate|^growth$|knock ?down|luminescence|",
    r"\brfu\b|shelf life|disintegration|dissolution|zerfallszeit|désagrégation|desintegración|disgregazione",
)
_OUTCOME = _pattern(
    r"y\d?|f|f\(x\)|value|result|results|outcome|target|output|measured.*|ergebnis|zielgröße|résultat|réponse|resultado|respuesta"
)
_SETTING = _pattern(
    r"^x\d*$|^[tp]\d?$|temp|time|zeit|dauer|duration|durée|tiempo|\bpress|druck|pression|presión|speed|rpm|drehzahl|vitesse|velocidad|",
    r"\bph\b|flow|fluss|débit|caudal|power|leistung|puissance|potencia|conc|konz|dose|dosis|amount|menge|quantité|",
    r"cantidad|feed|rate\b|ratio(?!n)|verhältnis|loading|equiv|volume|volumen|solvent|lösungsmittel|solvant|catalyst|",
    r"katalysator|catalyseur|catalizador|medium|medio|additive|zusatz|thickness|dicke|épaisseur|current|voltage|strom|",
    r"spannung|setpoint|sollwert|consigne|stirr|rühr|agit|glucose|sugar|zucker|sucre|azúcar|salt|salz|nitrogen|fertili|dünger|",
    r"water|wasser|energy|fluence|exposure|spin|bake|anneal|quench|cool|heat|gas|layer|passes|cycles|gap|distance|",
    r"abstand|width|height|length|angle|winkel|wt ?%|mol ?%|at ?%|vol ?%|\((?:g|mg|ml|mmol|eq.*)\)",
)
_SIZE = _pattern(r"thickness|dicke|épaisseur|espesor|width|height|höhe|hauteur|altura|length|volum|\brate\b")
_SET_IN = ("temperature", "time", "rotation", "gas flow", "voltage", "current", "power", "amount", "share of amount")
_RATIO = _pattern(
    r"ratio\b|\w\s*:\s*\w|verhältnis|\brapport\b|relación|proporción|proporzione|rapporto|proporção|razão"
)
_MEAN = _pattern(
    r"\bmean\b|average|\bavg\b|mittel|moyenne|promedio|media\b|médi[ao]|średni|x̄|ȳ|[øØ⌀∅]|\btotal\b|gesamt"
)
_COUNT = _pattern(
    r"(?:^|[\s_(])(?:number of|no\. of|n_|num_|count|passes|cycles|layers|coats|steps|repeats|turns|plies|wash(?:es)?|",
    r"anzahl|zyklen|lagen|durchgänge|nombre de|couches|número de|capas|ciclos|pasadas)",
)


def goal_of(name: str) -> str | None:
    """Whether more or less of an outcome is better, as its name says; None if it does not."""
    plain = re.sub(r"[_\W\d]+", " ", name)  # HV1 and HV2 are hardnesses
    less, more = _MINIMIZE.search(plain), _MAXIMIZE.search(plain)
    if less and (not more or less.start() <= more.start()):
        return "minimize"
    return "maximize" if more else None


def is_outcome(name: str) -> bool:
    """Whether the name of a column is that of an outcome."""
    measured = _OUTCOME.fullmatch(name.strip()) or _MEASURED.search(re.sub(r"[_\W]+", " ", name))
    return goal_of(name) is not None or measured is not None


def is_setting(name: str) -> bool:
    """Whether the name of a column is that of something one sets, by its words or by its unit."""
    if is_outcome(name):
        return False
    unit = units.find(units.in_header(name) or "-")
    return _SETTING.search(name) is not None or (unit is not None and unit.kind in _SET_IN)


def is_size(name: str) -> bool:
    """Whether the name of a column is that of something one may set or measure."""
    return _SIZE.search(name) is not None


def is_mean(name: str) -> bool:
    """Whether a column holds the mean of others, by its name."""
    return _MEAN.search(name) is not None


def is_ratio(name: str) -> bool:
    """Whether the name of a column is that of a ratio, such as 1:15."""
    return _RATIO.search(name) is not None


def is_count(name: str) -> bool:
    """Whether the name of a column is that of something one counts."""
    return _COUNT.search(name) is not None
