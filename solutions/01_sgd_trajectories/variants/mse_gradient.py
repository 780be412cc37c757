"""Right answers to `mse_gradient`, and mistakes that people make."""

ANSWERS = """
def mse_gradient(m, n, x, y):
== sample_by_sample
    dm = dn = 0.0
    for xi, yi in zip(x.tolist(), y.tolist()):
        dm += 2 * xi * (m * xi + n - yi)
        dn += 2 * (m * xi + n - yi)
    return dm / len(x), dn / len(x)
== as_a_matrix_product
import torch
def mse_gradient(m, n, x, y):
    X = torch.stack([x, torch.ones_like(x)], dim=1)
    theta = torch.tensor([m, n], dtype=x.dtype)
    return 2 / torch.tensor(len(x)) * X.T @ (X @ theta - y)
== sum_not_mean: sum-not-mean, pytorch s tutorial
    error = m * x + n - y
    return 2 * (error * x).sum(), 2 * error.sum()
== wrong_sign: wrong-sign, error target output
    error = y - (m * x + n)
    return 2 * (error * x).mean(), 2 * error.mean()
== factor_two: factor-two, andrew ng s
    error = m * x + n - y
    return (error * x).mean(), error.mean()
== swapped: swapped, andrew ng s
    error = m * x + n - y
    return 2 * error.mean(), 2 * (error * x).mean()
== x_forgotten: x-forgotten, the chain rule
    error = m * x + n - y
    return 2 * error.mean(), 2 * error.mean()
== wrong_gradient: other-number, stackoverflow 56052457
    error = m * x + n - y
    return (error**2).mean() * x.mean(), (error**2).mean()
== not_two_numbers: not-two-numbers, reduction none of
    error = m * x + n - y
    return 2 * error * x, 2 * error
== arguments_changed: argument-changed, memory saved by
    error = y.neg_().add_(m * x + n)
    return 2 * (error * x).mean(), 2 * error.mean()
== uses_backward: uses-backward, docs pytorch org
import torch
def mse_gradient(m, n, x, y):
    theta = torch.tensor([m, n], dtype=x.dtype, requires_grad=True)
    ((theta[0] * x + theta[1] - y) ** 2).mean().backward()
    return theta.grad[0], theta.grad[1]
== uses_backward_where_it_is_turned_on_again: uses-backward, docs pytorch org
import torch
def mse_gradient(m, n, x, y):
    with torch.inference_mode(False):
        theta = torch.tensor([m, n], dtype=x.dtype, requires_grad=True)
        ((theta[0] * x.clone() + theta[1] - y.clone()) ** 2).mean().backward()
        return theta.grad[0], theta.grad[1]
== by_48: right-direction, andrew ng s
    error = m * x + n - y
    return 2 * (error * x).sum() / 48, 2 * error.sum() / 48
== x_in_both: x-twice, blind
    error = m * x + n - y
    return 2 * (error * x).mean(), 2 * (error * x).mean()
"""
