"""Times optimizer steps in PyTorch, float32, by the published formulas; driven by benchmarks/compare.

answers each line "ALGORITHM ROWS COLS COPIES step|refresh" on standard input with the seconds of one
step over COPIES matrices; "refresh" is a step that also renews the preconditioners.
"""
import sys
import time

import torch

YOU5 = [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
        (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)]


def newton_schulz(matrix):
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / (x.norm() + 1e-7)
    for a, b, c in YOU5:
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def gradient(rows, cols):
    """As ours (bench_gradient in src/bench/bench_set.c): rows and columns fade as 1/sqrt(i)."""
    return 1e-3 * torch.randn(rows, cols) / torch.outer(torch.arange(1.0, rows + 1), torch.arange(1.0, cols + 1)).sqrt()


class Matrix:
    """One weight with its gradient; subclasses add state and the formula."""

    def __init__(self, rows, cols):
        self.value = torch.zeros(rows, cols)
        self.grad = gradient(rows, cols)
        self.first = torch.zeros(rows, cols)
        self.start()

    def start(self):
        pass


class Muon(Matrix):
    def step(self, _refresh):
        self.first.mul_(0.95).add_(self.grad)
        update = newton_schulz(self.grad + 0.95 * self.first)
        rows, cols = self.value.shape
        self.value.mul_(1 - 0.02 * 0.01).add_(update, alpha=-0.02 * (rows / cols) ** 0.5)


class Mousse(Matrix):
    def start(self):
        rows, cols = self.value.shape
        self.left, self.right = torch.zeros(rows, rows), torch.zeros(cols, cols)

    @staticmethod
    def decompose(statistics):
        size = len(statistics)
        normalised = statistics * (size / (statistics.trace() + 1e-5))
        values, vectors = torch.linalg.eigh(normalised + 1e-5 * torch.eye(size))
        values = values + max(0.0, -float(values.min())) + 1e-5
        return values**-0.125, vectors

    def step(self, refresh):
        self.first.mul_(0.95).add_(self.grad)
        self.left.mul_(0.95).add_(self.grad @ self.grad.T, alpha=0.05)
        self.right.mul_(0.95).add_(self.grad.T @ self.grad, alpha=0.05)
        if refresh:
            self.left_scale, self.left_basis = self.decompose(self.left)
            self.right_scale, self.right_basis = self.decompose(self.right)
        scale = self.left_scale[:, None] * self.right_scale
        update = newton_schulz(self.left_basis.T @ self.first @ self.right_basis * scale)
        gamma = update.norm()
        update = self.left_basis @ (update * scale) @ self.right_basis.T
        rows, cols = self.value.shape
        self.value.mul_(1 - 0.02 * 0.01).add_(update * (gamma / update.norm()), alpha=-0.02 * (rows / cols) ** 0.5)


class Soap(Matrix):
    """Only what the formulas need: the first moment changes basis when there is a new basis."""

    def start(self):
        self.left, self.right = self.grad @ self.grad.T, self.grad.T @ self.grad
        self.left_basis = torch.linalg.eigh(self.left)[1].flip(1)
        self.right_basis = torch.linalg.eigh(self.right)[1].flip(1)
        self.second = torch.zeros_like(self.grad)

    @staticmethod
    def move(statistics, basis):
        product = statistics @ basis
        order = torch.argsort((basis * product).sum(0), descending=True)
        return torch.linalg.qr(product[:, order])[0], order

    def step(self, refresh):
        rotated = self.left_basis.T @ self.grad @ self.right_basis
        self.first.mul_(0.95).add_(rotated, alpha=0.05)
        self.second.mul_(0.95).addcmul_(rotated, rotated, value=0.05)
        update = self.left_basis @ (self.first / (self.second.sqrt() + 1e-8)) @ self.right_basis.T
        self.value.add_(update, alpha=-3e-3).mul_(1 - 3e-3 * 0.01)
        self.left.mul_(0.95).add_(self.grad @ self.grad.T, alpha=0.05)
        self.right.mul_(0.95).add_(self.grad.T @ self.grad, alpha=0.05)
        if refresh:
            back = self.left_basis @ self.first @ self.right_basis.T
            self.left_basis, order = self.move(self.left, self.left_basis)
            self.second = self.second[order]
            self.right_basis, order = self.move(self.right, self.right_basis)
            self.second = self.second[:, order]
            self.first = self.left_basis.T @ back @ self.right_basis


class SoapPublished(Soap):
    """The products of the authors' program (github.com/nikhilvyas/SOAP): the first moment leaves the basis and
    returns in every step, and a move of the basis multiplies the statistics twice."""

    def project(self, x):
        return (x.T @ self.left_basis).T @ self.right_basis

    def project_back(self, x):
        return (x.T @ self.left_basis.T).T @ self.right_basis.T

    @staticmethod
    def move(statistics, basis):
        order = torch.argsort(torch.diag(basis.T @ statistics @ basis), descending=True)
        return torch.linalg.qr(statistics @ basis[:, order])[0], order

    def step(self, refresh):
        rotated = self.project(self.grad)
        self.first.mul_(0.95).add_(rotated, alpha=0.05)
        self.second.mul_(0.95).add_(rotated.square(), alpha=0.05)
        self.value.add_(self.project_back(self.first / self.second.sqrt().add_(1e-8)), alpha=-3e-3)
        self.value.add_(self.value, alpha=-3e-3 * 0.01)
        self.first = self.project_back(self.first)
        self.left.lerp_(self.grad @ self.grad.T, 0.05)
        self.right.lerp_(self.grad.T @ self.grad, 0.05)
        if refresh:
            self.left_basis, order = self.move(self.left, self.left_basis)
            self.second = self.second.index_select(0, order)
            self.right_basis, order = self.move(self.right, self.right_basis)
            self.second = self.second.index_select(1, order)
        self.first = self.project(self.first)


class Formula:
    def __init__(self, matrix, rows, cols, copies):
        self.matrices = [matrix(rows, cols) for _ in range(copies)]

    def renew_gradients(self):
        for matrix in self.matrices:
            matrix.grad = gradient(*matrix.value.shape)

    def step(self, refresh):
        for matrix in self.matrices:
            matrix.step(refresh)


class AdamW:
    def __init__(self, rows, cols, copies):
        self.weights = [torch.zeros(rows, cols, requires_grad=True) for _ in range(copies)]
        self.renew_gradients()
        self.optimizer = torch.optim.AdamW(self.weights, lr=1e-3, betas=(0.9, 0.95), weight_decay=0.01)

    def renew_gradients(self):
        for weight in self.weights:
            weight.grad = gradient(*weight.shape)

    def step(self, _refresh):
        self.optimizer.step()


FORMULAS = {"muon": Muon, "mousse": Mousse, "soap": Soap, "soap_published": SoapPublished}


def main():
    torch.manual_seed(1)
    current, subject = None, None
    for line in sys.stdin:
        *wanted, kind = line.split()
        if wanted != current:
            name, *sizes = wanted
            sizes = [int(size) for size in sizes]
            subject = Formula(FORMULAS[name], *sizes) if name in FORMULAS else AdamW(*sizes)
            subject.step(True)  # warm-up, and the first preconditioners
            current = wanted
        subject.renew_gradients()
        start = time.perf_counter()
        subject.step(kind == "refresh")
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    with torch.no_grad():
        main()
