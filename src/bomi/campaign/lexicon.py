"""What the name of a column says of it, in English, German, French, Spanish, Italian, Portuguese and Polish.

Of Dutch, the Nordic languages, Czech, Turkish, Russian, Chinese, Japanese and Korean the commonest words are known.
The module is long because it is mostly lists of words, in so many languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations

from bomi.space import units

SHORT = 5  # letters that the name of an interaction has at most
_once_a_name = lru_cache(maxsize=4096)  # a name is looked at for many questions


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


IDENTIFIER_NAME = _pattern(
    r"(?:exp(?:eriment|\.)?|run|trial|test|sample|specimen|entry|row|record|versuche?s?|proben?|lauf|zeile|essai|",
    r"échantillon|echantillon|expérience|manip|ensayo|muestra|corrida|experimento|prueba|prova|campione|esperimento|",
    r"ensaio|amostra|próby?|próbka|doświadczenie|wafer|coupon|panel|ansatz|tratamento|tratamiento|proefn?|monster|",
    r"försök|prov|",
    r"forsøk|forsøg|prøve|näyte|koe|pokus|vzorek|deneme|deney|numune|опыт|образец|проба|实验|試料|実験|试验|样品|",
    r"试样|実験|실험|시료)",
    r"[\s._-]*(?:id|no\.?|nr\.?|num(?:ber|mer|éro|ero)?\.?|n°|nº|№|#|name|code|nummer|编号|番号|序号|番|号|번호)?",
    r"|id|uid|#|no\.?|nr\.?|n°|nº|№|编号|序号|番号|번호|lfd\.? ?nr\.?|number|nummer|numéro|número|num\.?|index|idx|",
    r"key|label|barcode",
    r"|std\.?(?: ?order)?|run ?order|order|unnamed: 0",
)
_WHO_OR_WHICH = (  # the last word of a name that says who did it, or on which lot or plot
    r"operator|op\.|person|who|author|autor|auteur|autore|user|technician|tech\.?|analyst|chemist|researcher|scientist|"
    r"student|initials|experimenter|laborant(?:in)?|chemiker(?:in)?|chimiste|químico|bediener|mitarbeiter|prüfer|"
    r"bearbeiter|opérateur|operateur|technicien|responsable|responsible|operador|técnico|analista|operatore|tecnico|"
    r"lots?|batch|chargen?|lote|lotto|partia|colada|coulée|colata|schmelze|plot|parzelle|parz\.?|parcelle|parcela|"
    r"parcella|poletko|perceel|seed|panell?ist\w*|qr|barcode|serial"
)
LABEL_NAME = _pattern(
    r".*\b(?:by|par|von|por)|(?:(?:.*[\s_.-])?(?:", _WHO_OR_WHICH, r")|",
    r"well|plate|site|location|farm|standort|ort|lieu|lugar|sitio|luogo|miejsce|lab|",
    r"lat(?:itude)?|lon(?:g(?:itude)?)?|elev(?:ation)?(?:[_ ]m)?|altitude|gps|position|pos\.?|slot|",
    r"pt ?type|point ?type|center ?pt|blocks?|replicate|rep\.?|wdh\.?|wiederholung|",
    r"répétition|repetición|reference|ref\.?|source|quelle|file|filename|datei|fichier|archivo|url|link|code)",
    r"(?:[\s._-]*(?:id|no\.?|nr\.?|number|\d+|#|name))?",
)  # fmt: skip
GROUP_NAME = _pattern(r"(?:.*[\s_.-])?(?:", _WHO_OR_WHICH, r")(?:[\s._-]*(?:id|no\.?|nr\.?|number|#|name))?")
DATE_NAME = _pattern(
    r"(?:date|data|day|datum|tag|jour|fecha|día|timestamp|time ?stamp|zeitstempel|日期|日付|날짜|дата|tarih|päivä|",
    r"dato|start(?:ed)?(?: ?time)?|uhrzeit|",
    r"year|month|week|kw)(?:[\s._-].*)?|.*(?:date|datum|fecha|timestamp)",
)
NOTE_NAME = _pattern(
    r"notes?|comments?|remarks?|observations?|description|bemerkung(?:en)?|kommentare?|anmerkung(?:en)?|notizen?|",
    r"remarques?|commentaires?|observaciones|observación|comentarios?|notas?|osservazioni|commenti|observações|",
    r"uwagi|stat(?:us|e)|done|checked|ok\??|opmerking(?:en)?|anmärkning(?:ar)?|kommentarer|merknad(?:er)?|",
    r"bemærkning(?:er)?|",
    r"huomautus|poznámk[ay]|açıklama|notlar|примечани[ея]|комментари[йи]|备注|备考|備考|コメント|비고",
)
OUT_NAME = _pattern(
    r"outliers?|excluded?|ignored?|discard(?:ed)?|omit(?:ted)?|reject(?:ed)?|invalid|ausreißer|ausreisser|",
    r"ausgeschlossen|",
    r"verwerfen|ungültig|exclu(?:re|e)?|aberrante?|à exclure|rejeté|excluir|excluido|descartad[oa]|atípico|escluso|",
    r"scartato|",
    r"excluído|odrzucon[ey]",
)
SPREAD_NAME = _pattern(
    r"(?P<of>.+?)[\s._-]*(?:sd|std|stdev|std\.? ?dev\.?|s\.d\.|sem|se|error|err|stabw|±|\+/-|unc\.?|uncertainty|σ)",
    r"|(?:sd|std|stdev|sem|error|err)[\s._-]+(?:of[\s._-]+)?(?P<to>.+)",
    r"|(?:r?sd|s\.d\.|std\.? ?dev\.?|stdev|sem|±|\+/-|stabw\.?|streuung|écart[- ]type|desv\.? ?est\.?|dev\.? ?std\.?|",
    r"cv|",
    r"desvio(?: padrão)?)(?:\s*[(\[].*)?",
)
_MAXIMIZE = _pattern(
    r"yield|strength|titer|titre|(?<!water )hardness|toughness|conversion|selectivity|\bconv\b|",
    r"efficien|purity|activity|productivity|",
    r"recovery|\buts\b|\bhv\b|\bhrc\b|\bhbw?\b|\bys\b|\brm\b|\brp\b|elongation|allongement|alargamiento|",
    r"allungamento|alongamento|wydłużenie|töjning|ductil|conducti[vb]|conducib|",
    r"leitfähig|vodivost|iletkenlik|przewodność|mobility|lifetime|",
    r"capacit|kapazit|kapacit|capacid|pojemność|kapasite|\bpce\b|\bvoc\b(?! (?:m?g|kg|ppm))|",
    r"\bjsc\b|\bff\b|\be ?e\b|growth rate|biomass|biomasa|viabilit|signal|\bsnr\b|\bgain\b|accuracy|score|quality|",
    r"adhesion|modulus|η|gloss|transmi|\bresolution\b|taste|sensory|acceptance|acceptab|liking|response|objective|",
    r"\bliked?\b|le gust|geschmeckt|gefallen|aimé|piaciut|gostou|",
    r"fitness|reward|biegespannung|bruchspannung|brilho|\befic\b|tensile|\bpeel\b|\btracción|\btrazione|flexural|compressive|\bvoto\b|auflösung|résolution|resolución|risoluzione|\bglans\b|",
    r"\bacc ?$|\bauc\b|survival|salt spray|durabilit|case depth|",
    r"ausbeute|\bausb\b|haftung|festigkeit|(?<!wasser)härte(?!r)|haerte(?!r)|umsatz|selektivität|reinheit|wirkungsgrad|",
    r"ertrag|zähigkeit|dehnung|",
    r"aktivität|",
    r"geschmack|glanz|echtheit|\w{3,}echt\b|\bfastness|vitalität|viabilität|haltbarkeit|genauigkeit|akzeptanz|überleben|\beht\b|",
    r"rendement|\brend\b|\brdt\b|résistance|dureté|pureté|sélectivité|efficacité|activité|brillan|brillance|viabilité|",
    r"exactitude|",
    r"adhérence|acceptabilité|^note ?$|",
    r"rendimiento|resistencia|dureza|pureza|conversión|selectividad|eficiencia|actividad|brillo|adherencia|",
    r"viabilidad|",
    r"exactitud|aceptaci|aceita[çb]|aceptabilidad|puntaje|puntuaci|",
    r"\bresa\b|durezza|resistenza|purezza|conversione|selettività|efficienza|attività|brillantezza|lucentezza|gradimento|solidità|adesione|",
    r"aderenza|",
    r"punteggio|rendimento|dureza|resistência|pureza|conversão|seletividade|eficiência|atividade|aderência|^nota\b|",
    r"wydajność|twardość|wytrzymałość|czystość|konwersja|selektywność|aktywność|\bplon\b|przyczepność|ocena|",
    r"udarność|produtividade|productividad|produttività|trasmittanza|estabilidad|stabilité|stabilität|stabilità|",
    r"\bstability|",
    r"\bproduct(?: (?:conc|titer|titre|yield|g|mg|ml?g)\b| ?$)|\bprodukt(?: (?:konz|titer|g|mg|ml?g)\b| ?$)|",
    r"\bremoval\b|remoci[oó]n|remoção|rimozione|abattement|élimination|entfernung|abbaugrad|",
    r"opbrengst|sterkte|hardheid|zuiverheid|hechting|utbyte|utbytte|udbytte|(?<!vatten)hårdhet|hardhet|hårdhed|hållfasthet|",
    r"styrke|",
    r"renhet|renhed|saanto|kovuus|lujuus|puhtaus|výtěžek|tvrdost|pevnost|čistota|verim|sertlik|dayanım|saflık|",
    r"\bpuan|",
    r"выход|тв[её]рдость|прочность|чистота|конверсия|урожай|产率|收率|得率|产量|硬度|强度|纯度|转化率|效率|容量|",
    r"収率|収量|強度|純度|",
    r"転化率|効率|수율|경도|강도|순도|전환율|去除率|除去率|选择性|選択率|电导率|導電率|伸长率|光泽|光沢|寿命|评分|評価|得分|歩留",
)
_MINIMIZE = _pattern(
    r"impurit|\bimps?\b|cost|loss|defect|roughness|\bra\b|\brz\b|porosity|instabilit|declin|degradation|wear|corrosion|",
    r"error|rmse|\bresidues?\b|rückst[aä]nd|\brésidus?\b|",
    r"\bmse\b|residual|waste|scrap|",
    r"\berr\b|shrinkage|warp(?:age|ing)|\bleak|noise|byproduct|by product|turbidit|emissi|utsläpp|crack|resistivity|",
    r"sheet res|",
    r"verunreinigung|nebenprodukt|kosten|verlust|ausschuss|rauheit|rauigkeit|porosität|verschleiß|fehler|schwindung|",
    r"verzug|^voids?\b|\brut\b|rutting|impureté|coût|perte|défaut|rugosité|porosité|usure|",
    r"impureza|costo|coste|pérdida|perdida|defecto|rugosidad|porosidad|desgaste|",
    r"impurezz|perdita|difett|scarto|rugosità|porosità|usura|ritiro|custo|\bperda|defeito|rugosidade|porosidade|",
    r"zanieczyszcz|koszt|\bstrat[ay]\b|chropowatość|porowatość|zużycie|skurcz|trübung|turbidez|torbidit|mętność|",
    r"troebel|grumlighet|zákal|bulanıklık|浊度|濁度|slijtage|slitage|krimp|krympning|aşınma|friabil|moisture loss|",
    r"drying loss|",
    r"(?:water|moisture) (?:absorption|uptake)|wasseraufnahme|absorption d eau|absorción de agua|",
    r"assorbimento d acqua|",
    r"absorção de água|nasiąkliwość|non ?uniformity|\bfade\b|\bfading\b|\bhaze\b|\bvocs? (?:m?g|kg|ppm)|",
    r"yellowing|yellowness|breakage|",
    r"disease|",
    r"lesion|\bdamage|\bohm sq\b|crazing|delaminat|blister|sprick|\brisse?\b|fissur|grieta|cricch|pęknię|trhlin|",
    r"çatlak|裂纹|亀裂|",
    r"kostprijs|verlies|ruwheid|onzuiverheid|orenhet|kostnad|förlust|svinn|ytjämnhet|ruhet|urenhet|tap\b|tab\b|",
    r"ruhed|",
    r"nečistot|náklady|ztrát|drsnost|maliyet|kayıp|pürüzlülük|примес|стоимость|потер[иья]|шероховатость|брак\b|杂质|",
    r"成本|损失|",
    r"粗糙度|不純物|コスト|損失|粗さ|불순물|비용|손실|거칠기",
)
_LESS_SAID = _pattern(
    r"↓|(?:lower|smaller|less|lowest|the lower the)\W+(?:is\W+)?(?:better|best)|\bminimi[sz]\w*|\bje (?:kleiner|",
    r"niedriger|weniger)|",
    r"\bplus (?:petit|faible|bas)\b.*mieux|menor es mejor|cuanto menor|quanto menor|più basso|im kleinsten|",
    r"zu minimieren",
)
_MORE_SAID = _pattern(
    r"↑|\bsel\.|(?:higher|larger|bigger|greater|more|highest|the higher the)\W+(?:is\W+)?(?:better|best)|",
    r"\bmaximi[sz]\w*|\bje (?:größer|groesser|höher|mehr)|\bplus (?:grand|élevé|haut)\b.*mieux|mayor es mejor|",
    r"cuanto mayor|quanto maior|",
    r"zu maximieren",
)
_TARGET = _pattern(
    r"\b(?:target|aim|goal|soll(?:wert)?|ziel(?:wert)?|cible|consigne|objetivo|obiettivo|cel|mål|doel)\s*[=:]?\s*",
    r"(\d+(?:[.,]\d+)?)(?!\s*[-–\d])",
)
_AGENT = _pattern(  # what is added to make something so, and is not how it becomes
    r"剤|剂|제\b|(?:mittel|bildner|zusatz|träger|verbesserer)\b|\bagent|brillanteur|brightener|brillantante|abrillantador|"
    r"\badditi[vf]|\bimprover"
)
_TEMPERATURE = _pattern(r"\bt$|temp(?:erature?|eratura?|ératures?|\.)?$")
_WITHSTANDS = _pattern(  # what stands against something bad is good
    r"(?:corrosion|wear|abrasion|scratch|crack|heat|impact|fatigue|creep|stain|tear|oxidation|leak|frost|fire|flame|",
    r"water|",
    r"solvent|chemical|degradation|shrink(?:age)?|thermal shock)\s+resistan|resistance to|résistance à|",
    r"resistencia al?\b|",
    r"resistenza all?|resistência à|(?:verschleiß|verschleiss|korrosions?|kratz|abrieb\w?|riss|hitze|witterungs|",
    r"bruch)",
    r"(?:festigkeit|widerstand|beständigkeit)|slijtvast|corrosievast|odporność|",
    r"\b(?:removal|reduction|rejection|suppression|inhibition|saving)s?\b",
)
_GOOD_KEPT = _pattern(
    r"signal (?:to )?noise|residual (?:strength|activity|capacity|viability|hardness)|",
    r"cost (?:efficien|effective)|kosteneffizienz",
)
_UNTIL = _pattern(r"\b(?:before|until|till|to|bis|vor|avant|jusqu|antes|hasta|prima|fino|até|przed)\b")
_MEASURED = _pattern(
    r"\bfinal\b|\bfinale?s?\b|\bpdi\b|\bm[nwz]\b.*\bmol\b|molecular weight|molmasse|expression|absorbance|",
    r"fluores[cz]en|\bende? ?$|extinktion|\bod ?600\b|viscosit|viskosität|viscosidad|^(?:relative )?density|^dichte|",
    r"etch rate|ätzrate|\bslump\b|ausbreitma|setzma[sß]|affaissement|abatimiento|",
    r"dep(?:osition)? rate|removal rate|reaction rate|^growth$|knock ?down|luminescence|",
    r"粘度|^密度|相对密度|相対密度|점도|",
    r"\brfu\b|shelf life|disintegration|dissolution|zerfallszeit|délitement|désagrégation|desintegración|disgregazione",
)
_SIGNAL = _pattern(r"\bod ?\d*\b|absorbance|extinktion|fluores[cz]en|luminescence|\brfu\b|\braw\b")
_STRUCTURE = _pattern(r"(?:grain|crystallite) size|korngröße|taille des? grains?|tamaño de grano|dimensione del grano")
_OUTCOME = _pattern(
    r"y\d?|f|f\(x\)|value|result|results|outcome|target|output|measured.*|ergebnis|zielgröße|résultat|réponse|",
    r"resultado|respuesta",
)
_SETTING = _pattern(
    r"^x\d*$|^[tp]\d?$|^t_|^[cntpv]\d?\s*[(\[/]|temp|time|zeit|dauer|duration|durée|tiempo|\bpress|druck|pression|",
    r"presión|speed|rpm|drehzahl|",
    r"vitesse|velocidad|",
    r"\bph\b|flow|fluss|débit|caudal|power|leistung|puissance|potencia|conc|konz|dose|dosis|amount|menge|quantité|",
    r"cantidad|feed|rate\b|ratio(?!n)|verhältnis|loading|equiv|volume|volumen|solvent|lösungsmittel|solvant|",
    r"catalyst|",
    r"katalysator|catalyseur|catalizador|medium|\bmedio|additive|zusatz|thickness|dicke|épaisseur|current|voltage|",
    r"strom|",
    r"spannung|setpoint|sollwert|consigne|residence|stirr|rühr|agit|glucose|sugar|zucker|sucre|azúcar|salt|salz|nitrogen|",
    r"fertili|dünger|kühlung|refroidi|enfriam|raffreddam|resfriam|chłodzen|ochlazen|kylning|",
    r"water|wasser|energy|\bfluence|exposure|spin|\bbak(?:e\b|ing)|anneal|quench|cool|\bheat|gas|layer|passes|cycles|gap|distance|",
    r"abstand|width|height|length|angle|winkel|wt ?%|mol ?%|at ?%|vol ?%|\(eq.*\)",
)
_DOSED = _pattern(r"\((?:k?g|mg|m?l|mmol)\)")
_SIZE = _pattern(
    r"\bmass|\bwt\b(?! ?%)|\bweight|gewicht|\bpoids|\bpeso\b|thickness|",
    r"dicke|épaisseur|espesor|width|height|höhe|hauteur|altura|length|volum|\brate\b",
)
_SET_IN = (
    "temperature",
    "time",
    "rotation",
    "gas flow",
    "voltage",
    "current",
    "power",
    "amount",
    "share of amount",
    "equivalents",
    "parts of rubber",
)
_RATIO = _pattern(
    r"ratio\b|\w\s*:\s*\w|verhältnis|\brapport\b|relación|proporción|proporzione|rapporto|proporção|razão"
)
_MEAN = _pattern(
    r"\bmean\b|average|\bavg\b|\bprom\b|\bmoy\b|\bmittel(?:wert)?\b|mittelw|moyenne|promedio|media\b|médi[ao]|średni|x̄|ȳ|[øØ⌀∅]"
)
_SUM = _pattern(
    r"(?:grand )?total|sum|summe|gesamt|somme|suma|soma|somma|totale|razem|totaal|summa|toplam|合計|总计|合计"
)
_ASKED = _pattern(
    r"(?<![^\W_])(?:set[ -]?points?|set|sp|target|nominal|nom\.?|planned|requested|desired|programmed|soll(?:wert)?|",
    r"consigne|",
    r"visée?|nominale?|prévue?|objetivo|previst[oa]|programad[oa]|impostat[oa]|zadan[aey])(?![^\W_])",
)
_DONE = _pattern(
    r"(?<![^\W_])(?:actual|measured|meas\.?|real|recorded|achieved|read(?:back|ing)?|pv|ist(?:wert)?|gemessen|mesurée?|réelle?|",
    r"medid[oa]|",
    r"obtenid[oa]|misurat[oa]|effettiv[oa]|zmierzon[aey]|rzeczywist[aey])(?![^\W_])",
)
_SCORE = re.compile(r"[(\[]\s*[01]\s?(?:[-–—]|to|bis|à|a|\.\.)\s?(?:[3-9]|10)\s*[)\]]|\s?/\s?(?:5|10|20)\s*[)\]]?$")
_LASTS = _pattern(
    r"\btime|zeit|dauer|duration|temps|durée|tiempo|\btempo\b|durata|duração|czas|tijd|\btid|doba|süre|время|时间|時間|시간"
)
_MADE = _pattern(
    r"(?:.*\s)?(?:qty|pcs|pieces|stückzahl|stück|stk|pièces|piezas|pezzi|peças|sztuk|stuks|antal)\.?|quantity"
)
_COUNT = _pattern(
    r"(?:^|[\s_(])(?:number of|no\. of|n_|num_|count|passes|cycles|layers|coats|steps|repeats|turns|plies|",
    r"wash(?:es)?|",
    r"anzahl|zyklen|lagen|durchgänge|nombre de|couches|número de|capas|ciclos|pasadas)",
)


_LABEL_WORD = _pattern(  # anywhere in a name, but for batch size and block height
    r"(?<![^\W_])(?:",
    _WHO_OR_WHICH,
    r"|site|location|block|bloque|bloc|blok|replicate|repl?\.?|wdh\.?|position|pos\.?|slot|"
    r"well|series?|serie|row|rang|group|gruppe|groupe|grupo|team|crew|shift|schicht|équipe|turno|skift|zmiana|"
    r"day|datum|date|"
    r"machine|maschine|host|gpu|node|rig|channel|lane|tester|instrument|device|gerät|bench|tray|shelf|rack|spool|station|"
    r"(?<!cell )(?<!cell_)line|linie|initials|kürzel|section|bay|owner|worker|staff|name|sn|serial|"
    r"prepared|checked|blk)(?![^\W_])"
    r"(?![\s_-]*(?:size|volume|height|weight|mass|temp|spacing))",
    r"|\w[\s_.]*(?:n°|nº|№|#|(?<![^\W_])n[or]\.?)\s*$|担当|操作员|操作者|作業者|人员|负责人|批号|批次|ロット|담당|로트",
)
_MEASURED_WORD = _pattern(
    r"(?<![^\W_])(?:actual|measured|meas\.?|observed|found|obtained|determined|recorded|final|initial|ambient|amb\.?|"
    r"humidity|base(?:line)? pressure|basisdruck|pression de base|presión (?:de )?base|"
    r"outdoor|surroundings?|start|end|peak|outlet|exit|inlet|(?<!-)out|j\d{1,3}|[dwht]0|raw|incoming|before|after|pre|post|"
    r"gemessen|ist(?:wert)?|bestimmt|erhalten|ermittelt|ende|nach|vor|roh|mesurée?s?|obtenue?|réelle?|mesure|après|avant|"
    r"brute?|fin|medid[oa]|obtenid[oa]|real|inicial|después|antes|brut[oa]|misurat[oa]|ottenut[oa]|iniziale|dopo|prima|"
    r"zmierzon[aey]|gemeten|uppmätt|målt|ölçülen|измер\w*|ambiental|ambiente|raum\w*|luft\w*|umgebung\w*|otoczeni[ae]|okol[ií]|omgeving\w*|omgivning\w*|ortam)(?![^\W_])"
)
_SEEN = _pattern(  # in words, after an experiment
    r"(?<![^\W_])(?:appearance|colou?r|farbe|couleur|kleur|look|aspect|clarity|texture|od(?:ou?)r|smell|morpholog\w*|microstructure|"
    r"fail(?:ure|ed)?|fracture|break|damage|defects?|precipitat\w*|sediment|weather|wetter|météo|visual|visible|observ\w*|result|verdict|"
    r"aussehen|erscheinung|optik|geruch|gefüge|klarheit|bruch\w*|schaden\w*|fehler\w*|befund|beobachtung|sicht\w*|"
    r"apparence|odeur|rupture|faciès|défauts?|limpidité|dépôt|constat|"
    r"aspecto|apariencia|olor|textura|microestructura|fractura|rotura|falla|fallo|defectos?|"
    r"aspetto|odore|frattura|rottura|difett[oi]|sedimento|aparência|odor|ruptura|falha|"
    r"wygląd|zapach|przełom|wada|uiterlijk|geur|breuk|utseende|lukt|brott|vzhled|görünüm)(?![^\W_])"
    r"|外观|外観|断口|組織|组织|臭い|외관",
)
_COMPUTED = _pattern(  # by a program, from all other columns
    r"(?<![^\W_])(?:predicted|prediction|pred\.?|fitted|residuals?|resid\.?|studenti[sz]ed|standardi[sz]ed|leverage|"
    r"cook(?:'s|s)?(?: distance)?|dffits|desirability|vorhergesagte?r?|vorhersage|residuen|residuum|prédite?s?|"
    r"prédiction|résidus?|predich[oa]s?|residuos?|previst[oa]|residui?|previsão|resíduos?|przewidywan[aey]|reszty)(?![^\W_])"
)
_THING = _pattern(  # what is one of several, and seldom an amount
    r"(?:^|[\s_])(?:solvents?|catalysts?|ligands?|base|acid|substrate|medium|media|cultivar|variety|var\.?|hybrid|strain|"
    r"treatment|treat|mou?ld|nozzle|material|resin|polymer|monomer|electrode|electrolyte|anode|cathode|additive|coating|"
    r"primer|method|programme?|mode|pattern|atmosphere|flour|yeast|soil|fertilizer|alloy|steel|grade|filler|excipient|"
    r"pigment|dye|binder|buffer|salt|reagent|precursor|surfactant|inhibitor|quench(?:ant)?|filament|orientation|source|"
    r"cation|anion|gas|carrier|glaze|body|type|kind|form|shape|route|tillage|irrigation|condition|config|optimizer|"
    r"activation|scheduler|model|antibody|enzyme|cell line|media|beans|origin|hops|malt|culture|starter|wood|"
    r"fib(?:er|re)|weave|adhesive|membrane?|antisolvent|target|diluent|plasticizer|crosslinker|hardener|initiator|"
    r"lösungsmittel|katalysator|harz|zusatz|additiv|verfahren|programm|werkstoff|hefe|mehl|boden|sorte|legierung|"
    r"reagenz|säure|füllstoff|flockungsmittel|abschreckmittel|elektrolyt|substrat|vorbehandlung|bindemittel|weichmacher|"
    r"stahl|kultur|düngung|tensid|"
    r"solvant|catalyseur|résine|traitement|matériau|méthode|farine|levure|sol|variété|cépage|nuance|alliage|tensioactif|"
    r"milieu|acide|additif|fibre|souche|excipient|liant|primaire|"
    r"disolvente|catalizador|resina|tratamiento|material|método|harina|levadura|suelo|variedad|híbrido|cepa|aleación|"
    r"ácido|sustrato|aditivo|imprimación|"
    r"solvente|catalizzatore|trattamento|metodo|farina|lievito|varietà|miscela|lega|acido|additivo|vitigno|"
    r"levedura|variedade|catalisador|ligante|"
    r"rozpuszczalnik|katalizator|odmiana|podłoże|żywica|barwnik|stop|kwas|drożdże|"
    r"oplosmiddel|substraat|ras|zuursel|grond|lösningsmedel|bindemedel|bindemiddel|opløsningsmiddel|rozpouštědlo|ocel|kvasnice|"
    r"çeşit|çözücü|reçine|растворитель|катализатор|сорт|среда)"
    r"(?:$|[\s_.(:])",
    r"|^(?:products?|produkt|produit|producto|prodotto|produto)$|^cat\.?$|^(?:factor|faktor|facteur|fattore|fator)\b|(?:mittel|middel|medel|stoff|harz)\b|^lsm\b|溶媒|触媒|剤|剂|冷却|品種|溶剂|催化剂|正极|负极|材料|添加剂|表面活性剂|电解液|용매|촉매|재료",
)


def is_label(name: str, *, last: bool = False) -> bool:
    """Whether the name of a column may say who did it, where, when or on which lot, by one of its words or the last."""
    name = re.sub(r"\s*[(\[].*", "", name)
    return any(not last or match.end() == len(name) for match in _LABEL_WORD.finditer(name))


def is_measured(name: str) -> bool:
    """Whether the name of a column may say that it is measured or found, by one of its words."""
    return _MEASURED_WORD.search(name) is not None


def is_score(name: str) -> bool:
    """Whether the name of a column gives the scale of a score: `mildew (1-9)`, `taste /10`."""
    return _SCORE.search(name) is not None


def is_time(name: str) -> bool:
    """Whether a column says how long something takes, by its name."""
    return _LASTS.search(name) is not None


def is_temperature(name: str) -> bool:
    """Whether a column says how hot something is, by the last word of its name."""
    return _TEMPERATURE.search(re.sub(r"[(\[].*", "", name).strip()) is not None


def is_made(name: str) -> bool:
    """Whether a column may count what was made, by its name."""
    return _MADE.fullmatch(name.strip()) is not None


def is_seen(name: str) -> bool:
    """Whether the name of a column may say what somebody saw, by one of its words."""
    return _SEEN.search(name) is not None


def is_computed(name: str, columns: Iterable[str]) -> bool:
    """Whether a column holds a prediction of another one or what is left of it: `Predicted yield` beside `Yield`."""
    if 1 < len(name) <= SHORT and any(name in (a + b, f"{a}*{b}", f"{a}×{b}") for a, b in combinations(columns, 2)):
        return True  # the interaction of two factors, AB beside A and B
    if not _COMPUTED.search(name):
        return False
    stem = _stem(_COMPUTED.sub("", name))
    return any(_stem(other) == stem for other in columns if other != name) if stem else "(" not in name


def is_thing(name: str) -> bool:
    """Whether the name of a column is that of a thing one chooses: a solvent, a material, a method."""
    return _THING.search(name.strip()) is not None


def target_of(name: str) -> float | None:
    """The value that is wanted of an outcome, as its name says: `thickness, target 500`; None if it does not."""
    match = _TARGET.search(name)
    return float(match[1].replace(",", ".")) if match else None


@_once_a_name
def goal_of(name: str) -> str | None:
    """Whether more or less of an outcome is better, as its name says; None if it does not."""
    said_less, said_more = _LESS_SAID.search(name), _MORE_SAID.search(name)
    if said_less or said_more:
        return "maximize" if not said_less else "minimize" if not said_more else None
    if _AGENT.search(name) or is_temperature(name):  # the last word says what it is: reduction temperature
        return None
    plain = re.sub(r"[_\W\d]+", " ", name)  # HV1 and HV2 are hardnesses
    if _WITHSTANDS.search(plain) or _GOOD_KEPT.search(plain):
        return "maximize"
    if (unit := units.find(units.in_header(name) or "-")) and unit.kind in (
        "temperature",
        "rotation",
        "gas flow",
        "viscosity",
    ):
        return None  # T Härten (°C) is no hardness
    more = [match.span() for match in _MAXIMIZE.finditer(plain)]
    less = [match.span() for match in _MINIMIZE.finditer(plain)]
    less = [(a, b) for a, b in less if not any(start <= a and b <= end for start, end in more)]  # not the loss in gloss
    if less and (until := _UNTIL.search(plain)) and until.end() <= min(less)[0]:
        return "maximize"  # cycles to crack, trous avant usure
    if less:
        return "minimize"  # also what is lost of something good: yield loss, perte de rendement
    return "maximize" if more else None


@_once_a_name
def is_outcome(name: str) -> bool:
    """Whether the name of a column is that of an outcome."""
    measured = is_plain_outcome(name) or is_structure(name) or _MEASURED.search(re.sub(r"[_\W]+", " ", name))
    return goal_of(name) is not None or bool(measured)


def is_plain_outcome(name: str) -> bool:
    """Whether a column is called `y`, `result`, `response` and the like."""
    return _OUTCOME.fullmatch(name.strip()) is not None


def is_called_outcome(name: str) -> bool:
    """Whether the name of a column says that it is wanted, and not only that it is measured."""
    return goal_of(name) is not None or target_of(name) is not None or is_plain_outcome(name)


def is_signal(name: str) -> bool:
    """Whether a column is what an instrument says, and seldom what is wanted in the end."""
    return _SIGNAL.search(re.sub(r"[_\W]+", " ", name)) is not None


def is_structure(name: str) -> bool:
    """Whether a column is what was found in the product, and is seldom what is wanted of it."""
    return _STRUCTURE.search(name) is not None


def is_aside(name: str) -> bool:
    """Whether the name of a column is that of notes, of who and where, or of a spread: several may be called so."""
    return any(pattern.fullmatch(name.strip()) for pattern in (NOTE_NAME, LABEL_NAME, SPREAD_NAME))


def asked_of(name: str, columns: Iterable[str]) -> str:
    """The column of what was done, if one of this name is of what was asked, `T set` beside `T actual`; else ""."""
    if not _ASKED.search(name):
        return ""
    stem = _stem(_ASKED.sub("", name))
    others = [other for other in columns if other != name and stem]
    done = [other for other in others if _DONE.search(other) and _stem(_DONE.sub("", other)) == stem]
    return next(iter([*done, *(other for other in others if _stem(other) == stem)]), "")


def _stem(name: str) -> str:
    return re.sub(r"[\s._-]+|[(\[].*?[)\]]", "", name).casefold()


@_once_a_name
def is_called_setting(name: str) -> bool:
    """Whether the words of a name are those of something one sets."""
    return not is_outcome(name) and _SETTING.search(name) is not None


@_once_a_name
def is_setting(name: str) -> bool:
    """Whether the name of a column is that of something one sets, by its words or by its unit."""
    unit = units.find(units.in_header(name) or "-")
    in_unit = not is_outcome(name) and unit is not None and unit.kind in _SET_IN
    return is_dosed(name) or in_unit


@_once_a_name
def is_dosed(name: str) -> bool:
    """Whether the name of a column is that of something one sets, by its words or as one weighs it in: `flour (g)`."""
    return is_called_setting(name) or (not is_outcome(name) and _DOSED.search(name) is not None)


def is_size(name: str) -> bool:
    """Whether the name of a column is that of something one may set or measure."""
    return _SIZE.search(name) is not None


def is_mean(name: str) -> bool:
    """Whether a column holds the mean of others, by its name."""
    match = _MEAN.search(name)
    unit = units.find(units.in_header(name) or "-")
    return match is not None and not (match[0] in "øØ⌀∅" and unit is not None and unit.kind == "length")  # a diameter


def is_ratio(name: str) -> bool:
    """Whether the name of a column is that of a ratio, such as 1:15."""
    return _RATIO.search(name) is not None


def is_sum(name: str) -> bool:
    """Whether a column is the sum of others, by its name."""
    return _SUM.fullmatch(re.sub(r"[(\[].*", "", name).strip()) is not None


def measure_of(name: str) -> str:
    """What a column measures, without the number of a repeat, mean and spread: `adhesion 2`, `mean adhesion`."""
    plain = _MEAN.sub("", re.sub(r"[(\[].*?[)\]]", "", name))
    return re.sub(r"[\s._](?:s|sd|std|stdev|n)\s*$|[\W\d_]+", "", plain).casefold()


def is_count(name: str) -> bool:
    """Whether the name of a column is that of something one counts."""
    return _COUNT.search(name) is not None
