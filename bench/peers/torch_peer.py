"""PyTorch on one process (2 threads), or DDP over gloo (REPLICAS processes of one thread each): torch_peer.py WORKLOAD REPLICAS BATCH SAMPLES."""
import os
import socket
import sys

import common
import numpy as np
import torch
from torch import nn

WORKLOAD, REPLICAS, BATCH, SAMPLES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])


class Reuters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30982, 7)
        self.layers = nn.Sequential(nn.Conv1d(7, 64, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(64, 32, 3), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(),
                                    nn.Linear(32 * 73, 46))

    def forward(self, x):
        return self.layers(self.embedding(x).transpose(1, 2))


def conv_bn(inputs, outputs, kernel, stride=1, groups=1, activation=True):
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return parts + ([nn.ReLU6(inplace=True)] if activation else [])


class Block(nn.Module):
    """MobileNetV2's inverted residual (Sandler et al. 2018)."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        wide = inputs * expansion
        first = conv_bn(inputs, wide, 1) if expansion > 1 else []
        self.layers = nn.Sequential(*first, *conv_bn(wide, wide, 3, stride, wide), *conv_bn(wide, outputs, 1, activation=False))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


def mobilenet_v2():
    parts, inputs = conv_bn(3, 32, 3, 2), 32
    for expansion, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            parts.append(Block(inputs, outputs, stride if i == 0 else 1, expansion))
            inputs = outputs
    return nn.Sequential(*parts, *conv_bn(320, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 2))


def make():
    if WORKLOAD == "mnist":
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(13 * 13 * 32, 128), nn.ReLU(), nn.Linear(128, 10))
        return model, torch.optim.Adam(model.parameters(), 1e-3)
    if WORKLOAD == "reuters":
        model = Reuters()
        return model, torch.optim.NAdam(model.parameters(), 1e-3)
    model = mobilenet_v2()
    return model, torch.optim.Adam(model.parameters(), 1e-3)


def trainer(rank):
    torch.manual_seed(0)
    model, optimizer = make()
    pictures = WORKLOAD != "reuters"
    if pictures:
        model = model.to(memory_format=torch.channels_last)
    if REPLICAS > 1:
        model = nn.parallel.DistributedDataParallel(model)
    x, y = common.arrays(WORKLOAD, SAMPLES)
    x = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if pictures else x)
    if pictures:
        x = x.contiguous(memory_format=torch.channels_last)
    y = torch.from_numpy(y).long()
    share = BATCH // REPLICAS
    order = np.random.default_rng(3)

    def train(steps):
        loss, correct = None, 0
        for _ in range(steps):
            chosen = torch.from_numpy(order.permutation(SAMPLES)[:BATCH][rank * share:(rank + 1) * share])
            samples, labels = x[chosen], y[chosen]
            optimizer.zero_grad(set_to_none=True)
            scores = model(samples)
            loss = nn.functional.cross_entropy(scores, labels)
            loss.backward()
            optimizer.step()
            correct += (scores.detach().argmax(1) == labels).sum()
        return float(loss.detach())

    return train


def worker(rank, port, commands, answers):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=REPLICAS)
    train = trainer(rank)
    train(1)
    answers.put((0.0, common.peak_mib()))
    while (steps := commands.get()) is not None:
        answers.put((train(steps), common.peak_mib()))
    torch.distributed.destroy_process_group()


def main():
    if REPLICAS == 1:
        torch.set_num_threads(os.cpu_count())
        train = trainer(0)
        train(1)
        common.serve(train)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    commands = [context.Queue() for _ in range(REPLICAS)]
    answers = context.Queue()
    workers = [context.Process(target=worker, args=(r, port, commands[r], answers), daemon=True) for r in range(REPLICAS)]
    for process in workers:
        process.start()

    def ask(steps):
        for queue in commands if steps else []:
            queue.put(steps)
        got = [answers.get() for _ in range(REPLICAS)]
        common.peak_mib = lambda: sum(peak for _, peak in got)
        return got[0][0]

    ask(0)
    common.serve(ask)
    for queue in commands:
        queue.put(None)


if __name__ == "__main__":
    main()
