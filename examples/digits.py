"""Train a small convolutional network on scikit-learn's handwritten digits (1797 pictures of 8x8 pixels).

Run it with ``python examples/digits.py --epochs 15 --out digits.png``.
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


class DigitNet(nn.Module):
    """Two convolutions with batch normalisation, one hidden layer with dropout."""

    def __init__(self, channels=32, hidden=128, dropout=0.3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(2 * channels * 2 * 2, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def load_data(seed):
    """Training and test set; pixels (0 to 16) are scaled to the range from -1 to 1."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.2, random_state=seed, stratify=labels)
    x_train, x_test = (torch.tensor(x, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1 for x in parts[:2])
    y_train, y_test = (torch.tensor(y) for y in parts[2:])
    return TensorDataset(x_train, y_train), TensorDataset(x_test, y_test)


def train(model, loader, epochs, lr, print_steps):
    """Train in place; return the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    losses = []
    for epoch in range(epochs):
        model.train()
        for x, y in tqdm(loader, desc=f"epoch {epoch + 1:2d}/{epochs}", leave=False):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.detach())
            if print_steps and len(losses) <= 20:
                tqdm.write(f"step {len(losses):2d}  loss {loss.item():.4f}")
        tqdm.write(f"epoch {epoch + 1:2d}/{epochs}  loss {torch.stack(losses[-len(loader) :]).mean().item():.4f}")
    return torch.stack(losses)


@torch.no_grad()
def evaluate(model, dataset):
    """The share of right answers, and all answers."""
    model.eval()
    predictions = torch.cat([model(x).argmax(dim=1) for x, _ in DataLoader(dataset, batch_size=256)])
    labels = dataset.tensors[1]
    return (predictions == labels).float().mean().item(), predictions


def save_picture(path, losses, dataset, predictions):
    """The loss curve on the left, the first twelve test digits with the answers on the right."""
    figure, axes = plt.subplot_mosaic(
        [["loss", "loss", *range(4)], ["loss", "loss", *range(4, 8)], ["loss", "loss", *range(8, 12)]],
        figsize=(10, 4.5),
        layout="constrained",
    )
    axes["loss"].plot(losses.numpy(), linewidth=0.8)
    axes["loss"].set(xlabel="step", ylabel="cross entropy", yscale="log", title="training loss")
    for i in range(12):
        image, label = dataset[i]
        right = predictions[i] == label
        axes[i].imshow(image[0].numpy(), cmap="gray_r")
        axes[i].set_title(f"{predictions[i].item()}", color="green" if right else "red")
        axes[i].axis("off")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="digits.png", help="where the picture goes")
    parser.add_argument("--print-steps", action="store_true", help="print the loss of the first 20 steps")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = load_data(args.seed)
    model = DigitNet()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(train_set)} training and {len(test_set)} test pictures")
    loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    losses = train(model, loader, args.epochs, args.lr, args.print_steps)
    accuracy, predictions = evaluate(model, test_set)
    print(f"test accuracy {accuracy:.2%}")
    save_picture(args.out, losses, test_set, predictions)
    print(f"picture saved to {args.out}")


if __name__ == "__main__":
    main()
