"""A character-level GPT that learns to write Python from the standard library's sources, then writes some.

Run it with ``python examples/char_gpt.py --steps 500``.
"""

import argparse
import contextlib
import math
import sysconfig
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

SOURCES = (
    "argparse.py",
    "ast.py",
    "collections/__init__.py",
    "functools.py",
    "inspect.py",
    "json/encoder.py",
    "random.py",
    "statistics.py",
    "typing.py",
)


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention, then a two-layer perceptron; each behind a LayerNorm and beside a residual connection."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class CharGPT(nn.Module):
    """Scores for the next character at every place of a text."""

    def __init__(self, vocabulary, context, width, heads, layers, dropout):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.initialise)
        self.head.weight = self.tokens.weight  # tied: a character is read and written with the same vector

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def generate(self, ids, count, temperature=0.8, top_k=20):
        """Append ``count`` sampled characters to ``ids``."""
        for _ in range(count):
            scores = self(ids[:, -self.context :])[:, -1] / temperature
            kept, places = scores.topk(min(top_k, scores.shape[-1]))
            choice = torch.multinomial(F.softmax(kept, dim=-1), num_samples=1)
            ids = torch.cat([ids, places.gather(1, choice)], dim=1)
        return ids


def load_text():
    """The characters of some standard library modules; rare ones become a space."""
    library = Path(sysconfig.get_path("stdlib"))
    text = "\n".join((library / name).read_text(encoding="utf-8") for name in SOURCES)
    return "".join(c if c == "\n" or " " <= c <= "~" else " " for c in text)


def batch_of(data, batch_size, context, generator):
    """Random windows of the text, and the same windows one character later."""
    starts = torch.randint(len(data) - context, (batch_size,), generator=generator)
    windows = data[starts[:, None] + torch.arange(context + 1)]
    return windows[:, :-1], windows[:, 1:]


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def evaluate(model, data, args, batches=8):
    """Mean loss on windows that are the same at every call."""
    generator = torch.Generator().manual_seed(1234)
    model.eval()
    losses = [loss_of(model, *batch_of(data, args.batch_size, args.context, generator)) for _ in range(batches)]
    model.train()
    return torch.stack(losses).mean().item()


def lr_scale(step, steps, warmup):
    """Linear warm-up, then a half cosine down to a tenth."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def train(model, train_data, test_data, args):
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_scale(step, args.steps, warmup=min(50, args.steps // 5 + 1)))
    generator = torch.Generator().manual_seed(args.seed)
    started = time.perf_counter()
    for step in range(args.steps):
        loss = loss_of(model, *batch_of(train_data, args.batch_size, args.context, generator))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        if args.print_steps and step < 20:
            print(f"step {step + 1:2d}  loss {loss.item():.4f}")
        if (step + 1) % args.eval_every == 0 or step + 1 == args.steps:
            print(
                f"step {step + 1:5d}  train {loss.item():.3f}  test {evaluate(model, test_data, args):.3f}  "
                f"gradient norm {norm.item():.2f}  {time.perf_counter() - started:.1f} s"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--eval-every", type=int, default=100)
    parser.add_argument("--generate", type=int, default=400, help="characters to write at the end")
    parser.add_argument("--prompt", default="def ")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--print-steps", action="store_true", help="print the loss of the first 20 steps")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = load_text()
    characters = sorted(set(text))
    number_of = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([number_of[c] for c in text])
    split = int(0.9 * len(data))
    model = CharGPT(len(characters), args.context, args.width, args.heads, args.layers, args.dropout)
    print(f"{len(text):,} characters, {len(characters)} different; {sum(p.numel() for p in model.parameters()):,} parameters")

    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the training early
        train(model, data[:split], data[split:], args)
    model.eval()
    prompt = torch.tensor([[number_of[c] for c in args.prompt]])
    print("-" * 80)
    print("".join(characters[i] for i in model.generate(prompt, args.generate)[0].tolist()))


if __name__ == "__main__":
    main()
