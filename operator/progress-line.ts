import type { Clock } from '#runtime/base/time/clock.ts';

/** Interval between lines when the output is no terminal, in milliseconds. */
const LINE_EVERY_MS = 2_000;

/** Output of the lines. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows progress: on one updated line at a terminal, on a new line at intervals elsewhere. */
export class ProgressLine {
  readonly #screen: Screen;
  readonly #clock: Clock;
  #shown = '';
  #shownAtMs = Number.NEGATIVE_INFINITY;

  constructor(screen: Screen, clock: Clock) {
    this.#screen = screen;
    this.#clock = clock;
  }

  show(text: string): void {
    if (text === this.#shown) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#screen.isTTY === true) this.#screen.write(`\r\u001b[K${text}`);
    else if (nowMs - this.#shownAtMs >= LINE_EVERY_MS) this.#screen.write(`${text}\n`);
    else return;
    this.#shown = text;
    this.#shownAtMs = nowMs;
  }

  /** Ends the line, so that further output begins on a new one. */
  end(): void {
    if (this.#screen.isTTY === true && this.#shown !== '') this.#screen.write('\n');
  }
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a number of bytes for people. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
