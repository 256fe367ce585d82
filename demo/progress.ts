/** Width of the bar, in columns. */
const BAR_COLUMNS = 28;

/** Time between two redraws of the bar, in milliseconds. */
const DRAW_MS = 80;

/** Output of the bar, usually standard output. */
interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows progress: a bar on a terminal, a line for every tenth of the work elsewhere. */
export class Progress {
  readonly #screen: Screen;
  readonly #label: string;
  readonly #total: number;
  readonly #began = performance.now();
  #done = 0;
  #drawnMs = 0;
  #linesWritten = 0;

  constructor(screen: Screen, label: string, total: number) {
    this.#screen = screen;
    this.#label = label;
    this.#total = total;
  }

  /** Counts one finished item. @param note text after the numbers */
  step(note: string): void {
    this.#done += 1;
    const now = performance.now();
    const isLast = this.#done === this.#total;
    if (this.#screen.isTTY) {
      if (!isLast && now - this.#drawnMs < DRAW_MS) return;
      this.#drawnMs = now;
      this.#screen.write(`\r\x1b[K${this.#label} ${this.#bar()} ${this.#numbers(now)}  ${note}`);
      return;
    }
    const tenth = Math.floor((this.#done / this.#total) * 10);
    if (tenth <= this.#linesWritten && !isLast) return;
    this.#linesWritten = tenth;
    this.#screen.write(`${this.#label} ${this.#numbers(now)}  ${note}\n`);
  }

  /** Ends the bar, so that further output begins on a new line. */
  end(): void {
    if (this.#screen.isTTY && this.#done > 0) this.#screen.write('\n');
  }

  #bar(): string {
    const full = Math.round((this.#done / this.#total) * BAR_COLUMNS);
    return `[${'█'.repeat(full)}${'░'.repeat(BAR_COLUMNS - full)}]`;
  }

  #numbers(now: number): string {
    const seconds = Math.max((now - this.#began) / 1000, 0.001);
    const count = `${this.#done.toLocaleString('en-US')}/${this.#total.toLocaleString('en-US')}`;
    return `${count}  ${Math.round(this.#done / seconds).toLocaleString('en-US')}/s`;
  }
}
