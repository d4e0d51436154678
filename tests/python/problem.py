"""A small model whose gradients depend on its weights, and loops over it."""
import torch


def model(seed=1, dtype=torch.float32):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Embedding(23, 12), torch.nn.Linear(12, 16), torch.nn.Tanh(),
                              torch.nn.LayerNorm(16), torch.nn.Linear(16, 20), torch.nn.Tanh(),
                              torch.nn.Linear(20, 23))
    return net.to(dtype)


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randint(0, 23, (8,), generator=generator)


def loss_of(net, step):
    tokens = batch(step)
    return torch.nn.functional.cross_entropy(net(tokens).float(), (tokens * 7 + 3) % 23)


def train(net, optimizer, first, last, scheduler=None):
    for step in range(first, last):
        optimizer.zero_grad(set_to_none=True)
        loss_of(net, step).backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return weights(net)


def weights(net):
    return [p.detach().clone() for p in net.parameters()]


def same(one, other):
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other))
