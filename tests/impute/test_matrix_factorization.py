import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse
import smurff
import torch

from bomi import BomiError
from bomi.impute import matrix_factorization as bpmf
from bomi.impute.matrix_factorization import Hyper, NormalWishart, Prior, State, draw_tables


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def batch_of(draws, *tensors):
    return tuple(tensor.expand(draws, *tensor.shape) for tensor in tensors)


# --- the Normal-Wishart draw: known moments ---


@pytest.mark.parametrize("nu", [3.0, 4.5, 60.0])
def test_wishart_has_its_mean_and_variance(nu):
    draws = 200_000
    W = torch.tensor([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]], dtype=torch.float64)
    mu, W_inverse = batch_of(draws, torch.zeros(3, dtype=torch.float64), W.inverse())
    Lambda = NormalWishart(mu, 2.0, W_inverse, nu).draw(generator()).Lambda
    # Var[Lambda_kl] = nu (W_kl^2 + W_kk W_ll)
    variance = nu * (W**2 + W.diagonal().outer(W.diagonal()))
    z = (Lambda.mean(0) - nu * W) / (variance / draws).sqrt()
    assert z.abs().max() < 4
    torch.testing.assert_close(Lambda.var(0), variance, rtol=0.05, atol=0)


def test_mu_has_its_mean_and_covariance():
    draws, nu, beta = 200_000, 14.0, 3.0
    W = torch.tensor([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]], dtype=torch.float64)
    centre = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    mu, W_inverse = batch_of(draws, centre, W.inverse())
    drawn = NormalWishart(mu, beta, W_inverse, nu).draw(generator(1)).mu
    # E[Lambda^-1] = W^-1/(nu - K - 1)
    covariance = W.inverse() / (nu - 4) / beta
    z = (drawn.mean(0) - centre) / (covariance.diagonal() / draws).sqrt()
    assert z.abs().max() < 4
    products = (drawn - centre).unsqueeze(-1) * (drawn - centre).unsqueeze(-2)
    z = (products.mean(0) - covariance) / (products.std(0) / math.sqrt(draws))
    assert z.abs().max() < 4


def test_mu_goes_with_its_own_precision():
    # Given Lambda, beta (mu - mu*)^T Lambda (mu - mu*) ~ chi2(K), whatever Lambda came out.
    draws = 100_000
    mu, W_inverse = batch_of(draws, torch.zeros(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64))
    drawn = NormalWishart(mu, 2.0, W_inverse, 4.0).draw(generator(2))
    distance = 2 * torch.einsum("qk,qkl,ql->q", drawn.mu, drawn.Lambda, drawn.mu)
    assert abs(distance.mean() - 4) < 4 * math.sqrt(8 / draws)
    assert distance.var().item() == pytest.approx(8, rel=0.05)


# --- the sampler as a whole: Geweke, "Getting it right", JASA 2004 ---

ROWS, COLUMNS = 6, 3
# More degrees of freedom than the method's own, and noise enough for the chains to move quickly.
GEWEKE = Prior(rank=2, nu_0=8.0, noise=0.5)
MASK = torch.tensor([[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=torch.bool)


def draw_prior(chains, random):
    zero = torch.zeros(chains, 2, dtype=torch.float64)
    law = NormalWishart(zero, GEWEKE.beta_0, torch.eye(2, dtype=torch.float64).expand(chains, 2, 2), 8.0)

    def factors(hyper, n):
        z = bpmf.normal(zero.new_empty(chains, n, 2), random)
        L = torch.linalg.cholesky(hyper.Lambda)
        return hyper.mu.unsqueeze(-2) + torch.linalg.solve_triangular(L, z, upper=False, left=False)

    rows, columns = law.draw(random), law.draw(random)
    return State(factors(rows, ROWS), factors(columns, COLUMNS), rows, columns)


def draw_data(state, random):
    mean = state.U @ state.V.mT
    R = mean + math.sqrt(GEWEKE.noise) * bpmf.normal(mean, random)
    return R.where(MASK, math.nan)


def statistics(state, R):
    """Test functions (chains, functions), logarithms or bounded so that their moments exist."""
    values = []
    for Z, hyper in ((state.U, state.row_hyper), (state.V, state.column_hyper)):
        deviation = (Z - hyper.mu.unsqueeze(-2)).square().sum((-2, -1))
        values += [
            hyper.Lambda.logdet(),
            hyper.mu.square().sum(-1).log(),
            Z.square().sum((-2, -1)).log(),
            deviation.log(),
            (hyper.mu * Z.mean(-2)).sum(-1).tanh(),
            hyper.Lambda[..., 0, 1].tanh(),
        ]
    error = (R - state.U @ state.V.mT)[..., MASK]
    data = R[..., MASK]
    values += [
        data.square().sum(-1).log(),
        error.square().sum(-1).log(),
        (data.mean(-1) * (state.row_hyper.mu * state.column_hyper.mu).sum(-1)).tanh(),
        (state.U @ state.V.mT)[..., ~MASK].square().sum(-1).log(),
    ]
    return torch.stack(values, -1)


def geweke(step, *, chains=2000, sweeps=200, seed=0):
    """z-scores of (parameters, data) drawn outright against (parameters, data) drawn in turns by `step`.

    The chains run side by side and independently, each from a draw of the prior: their own averages are
    the batch means, so the standard error holds however slowly a chain moves.
    """
    random = generator(seed)
    state = draw_prior(50 * chains, random)
    outright = statistics(state, draw_data(state, random))
    state, total = draw_prior(chains, random), 0.0
    for _ in range(sweeps):
        R = draw_data(state, random)
        total = total + statistics(state, R)
        state = step(state, R, MASK, GEWEKE, random)
    in_turns = total / sweeps
    variance = outright.var(0) / len(outright) + in_turns.var(0) / len(in_turns)
    return (outright.mean(0) - in_turns.mean(0)) / variance.sqrt()


def test_sampler_keeps_the_joint_distribution():
    assert geweke(bpmf.step).abs().max() < 4


def test_geweke_sees_the_number_of_rows_in_place_of_the_columns(monkeypatch):
    right = bpmf.hyper_posterior

    def wrong(Z, prior, rows):
        # Each of the columns twice: the same mean and covariance, counted as if there were N of them.
        return right(Z.repeat(1, ROWS // COLUMNS, 1) if Z.shape[-2] == COLUMNS else Z, prior, rows)

    monkeypatch.setattr(bpmf, "hyper_posterior", wrong)
    assert geweke(bpmf.step, sweeps=40).abs().max() > 10


def test_geweke_sees_the_mean_of_the_factors_forgotten(monkeypatch):
    right = bpmf.draw_factors

    def wrong(other, hyper, *rest):
        return right(other, Hyper(torch.zeros_like(hyper.mu), hyper.Lambda), *rest)

    monkeypatch.setattr(bpmf, "draw_factors", wrong)
    assert geweke(bpmf.step, sweeps=40).abs().max() > 10


# --- against another program, on tables drawn from the model ---


def table_of_rank_two(seed, *, rows=100, columns=6, noise=0.01):
    """The true table, the measured one, and which fifth of its cells to hide."""
    random = np.random.default_rng(seed)
    truth = 0.5 + 0.1 * random.normal(size=(rows, 2)) @ random.normal(size=(2, columns))
    measured = truth + math.sqrt(noise) * random.normal(size=truth.shape)
    return truth, measured, random.random(truth.shape) < 0.2


def smurff_prediction(measured, hidden, seed, *, noise=0.01):
    shape, seen = measured.shape, np.nonzero(~hidden)
    # What `smurff.BPMFSession` sets up, but with a noise of our own.
    session = smurff.TrainSession(
        priors=["normal", "normal"],
        num_latent=15,
        burnin=100,
        nsamples=400,
        seed=seed,
        num_threads=1,
        verbose=0,
    )
    session.addTrainAndTest(
        scipy.sparse.coo_matrix((measured[seen], seen), shape=shape),
        scipy.sparse.coo_matrix(hidden.astype(float)),
        noise=smurff.FixedNoise(1 / noise),
    )
    prediction = np.full(shape, np.nan)
    for cell in session.run():
        prediction[cell.coords] = cell.pred_avg
    return prediction


def rmse(prediction, truth, hidden):
    return np.sqrt(np.mean((prediction - truth)[hidden] ** 2))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_chains_predict_hidden_cells_as_smurff_does(seed):
    truth, measured, hidden = table_of_rank_two(seed)
    prior, random = Prior(), generator(seed)
    R = torch.tensor(np.where(hidden, np.nan, measured)).expand(4, *hidden.shape)
    observed = ~R.isnan()
    state, total = bpmf.init(R, observed, prior, random), 0.0
    for sweep in range(500):
        state = bpmf.step(state, R, observed, prior, random)
        total = total + (state.U @ state.V.mT if sweep >= 100 else 0.0)
    ours = rmse((total / 400).mean(0).numpy(), truth, hidden)
    assert ours == pytest.approx(rmse(smurff_prediction(measured, hidden, seed), truth, hidden), rel=0.1)


@pytest.mark.parametrize("seed", [1, 2])
def test_forty_sweeps_predict_hidden_cells_as_smurff_does(seed):
    truth, measured, hidden = table_of_rank_two(seed)
    R = torch.tensor(np.where(hidden, np.nan, measured))
    drawn = draw_tables(R, tables=100, prior=Prior(rank=15, noise=0.01), sweeps=40, generator=generator(seed)).numpy()
    ours = rmse(drawn.mean(0), truth, hidden)
    assert ours == pytest.approx(rmse(smurff_prediction(measured, hidden, seed), truth, hidden), rel=0.1)


# --- completed tables ---


def gappy(rows, columns, share=0.3, seed=0):
    R = torch.rand(rows, columns, dtype=torch.float64, generator=generator(seed))
    return R.masked_fill(torch.rand(rows, columns, generator=generator(seed + 1)) < share, math.nan)


def with_gaps(R, *where):
    R = R.clone()
    R[where] = math.nan
    return R


TABLES = {
    "some gaps": gappy(30, 6),
    "no gap": gappy(10, 4, share=0),
    "one row": with_gaps(gappy(1, 5, share=0), 0, 2),
    "one cell": torch.tensor([[math.nan]]),
    "a column without a value": with_gaps(gappy(20, 5), slice(None), 3),
    "a row without a value": with_gaps(gappy(20, 5), 7),
    "a gap in every row": with_gaps(gappy(20, 5, share=0), torch.arange(20), torch.arange(20) % 5),
    "many columns": gappy(15, 25),
    "nothing known": torch.full((4, 3), math.nan, dtype=torch.float64),
    "single precision": gappy(8, 3).float(),
    "the same value everywhere": with_gaps(torch.full((12, 4), 0.5, dtype=torch.float64), 0, 0),
    "values at the ends": with_gaps(gappy(20, 4, share=0).round(), slice(0, 5), 1),
}


@pytest.mark.parametrize("R", TABLES.values(), ids=TABLES.keys())
def test_every_table_is_completed(R):
    before = R.clone()
    drawn = draw_tables(R, tables=5, prior=Prior(rank=15, noise=0.01), sweeps=40, generator=generator())
    assert drawn.shape == (5, *R.shape)
    assert drawn.dtype == torch.float64
    observed = ~R.isnan()
    assert torch.equal(drawn[:, observed], R[observed].double().expand(5, -1))
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert torch.equal(R.nan_to_num(-1), before.nan_to_num(-1))


def test_a_missing_cell_is_normal_about_its_factors_and_clipped(monkeypatch):
    tables = 50_000
    factors = State(
        U=torch.ones(tables, 1, 1, dtype=torch.float64),
        V=torch.tensor([[0.5], [0.0], [1.0]], dtype=torch.float64).expand(tables, 3, 1),
        row_hyper=None,
        column_hyper=None,
    )
    monkeypatch.setattr(bpmf, "step", lambda *_: factors)
    R = torch.full((1, 3), math.nan)
    middle, low, high = draw_tables(
        R, tables=tables, prior=Prior(rank=1, noise=0.01), sweeps=1, generator=generator()
    ).unbind(-1)
    assert abs(middle.mean() - 0.5) < 4 * 0.1 / math.sqrt(tables)
    assert middle.var().item() == pytest.approx(0.01, rel=4 * math.sqrt(2 / tables))
    assert abs((low == 0).double().mean() - 0.5) < 4 * 0.5 / math.sqrt(tables)
    assert abs((high == 1).double().mean() - 0.5) < 4 * 0.5 / math.sqrt(tables)


def test_same_seed_same_tables_and_each_table_is_its_own():
    def draw(seed):
        return draw_tables(
            gappy(20, 5), tables=3, prior=Prior(rank=4, noise=0.01), sweeps=10, generator=generator(seed)
        )

    torch.manual_seed(1)
    first = draw(7)
    torch.manual_seed(2)
    assert torch.equal(first, draw(7))
    assert not torch.equal(first, draw(8))
    assert not torch.equal(first[0], first[1])


def test_a_sweep_ignores_what_stands_in_a_gap():
    R, prior = gappy(12, 4), Prior(rank=3)
    observed = ~R.isnan()
    state = bpmf.init(R, observed, prior, generator())
    one = bpmf.step(state, R, observed, prior, generator(1))
    other = bpmf.step(state, R.nan_to_num(1e6), observed, prior, generator(1))
    assert torch.equal(one.U, other.U)
    assert torch.equal(one.V, other.V)


def test_the_prior_is_that_of_the_paper():
    assert dataclasses.astuple(Prior()) == (15, 2.0, None, 0.01, "centred")
    assert Prior(rank=7).freedom == 7


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"noise": 0.0}, {"beta_0": -1.0}, {"nu_0": 14.0}])
def test_impossible_priors_are_refused(wrong):
    with pytest.raises(BomiError, match="but got"):
        Prior(**wrong)


def test_an_empty_table_is_refused():
    with pytest.raises(BomiError, match=r"\(0, 3\)"):
        draw_tables(torch.empty(0, 3), tables=1, prior=Prior(rank=2, noise=0.01), sweeps=1, generator=generator())
