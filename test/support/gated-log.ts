import { compareRevisions, type Revision, revisionZero } from '#runtime/content/revision.ts';
import type { LogEntry, LogRecord } from '#runtime/log/log-entry.ts';
import type { Log, PendingRange } from '#runtime/log/ports.ts';

interface Waiting {
  readonly entry: LogEntry;
  readonly resolve: (sequence: number) => void;
  readonly reject: (error: unknown) => void;
}

/** A log in memory whose appends wait until the test says what becomes of them. */
export class GatedLog implements Log {
  readonly records: LogRecord[] = [];
  readonly releases: [actor: string, sequence: number][] = [];
  lastClock: Revision = revisionZero;
  /** Whether appends are acknowledged by themselves. */
  isOpen = false;
  /** Whether it says that it goes on by itself after it has stopped. */
  heals = false;
  /** What `confirm` answers. */
  confirmation: Promise<void> | undefined;
  /** What `flush` waits for. */
  flushing: Promise<void> | undefined;
  #waiting: Waiting[] = [];

  get lastSequence(): number {
    return this.records.length;
  }

  /** Entries appended and not answered. */
  get waiting(): readonly LogEntry[] {
    return this.#waiting.map(({ entry }) => entry);
  }

  append(entry: LogEntry): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      if (this.isOpen) this.acknowledge();
    });
  }

  /** Makes the oldest waiting entry durable. */
  acknowledge(): void {
    const { entry, resolve } = this.#take();
    if (compareRevisions(entry.clock, this.lastClock) > 0) this.lastClock = entry.clock;
    this.records.push({ sequence: this.records.length + 1, entries: [entry] });
    resolve(this.records.length);
  }

  /** Fails the oldest waiting entry. */
  refuse(error: unknown): void {
    this.#take().reject(error);
  }

  async *read(afterSequence: number): AsyncGenerator<LogRecord, void, void> {
    for (const record of [...this.records]) if (record.sequence > afterSequence) yield record;
  }

  released(actor: string, sequence: number): void {
    this.releases.push([actor, sequence]);
  }

  pending(): ReadonlyMap<string, PendingRange> {
    const pending = new Map<string, PendingRange>();
    for (const { sequence, entries } of this.records) {
      for (const { actor } of entries) {
        const released = Math.max(
          0,
          ...this.releases.filter(([name]) => name === actor).map(([, upTo]) => upTo),
        );
        if (sequence <= released) continue;
        pending.set(actor, { first: pending.get(actor)?.first ?? sequence, last: sequence });
      }
    }
    return pending;
  }

  confirm(): Promise<void> | undefined {
    return this.confirmation;
  }

  async flush(): Promise<number> {
    await this.flushing;
    return this.lastSequence;
  }

  async close(): Promise<void> {}

  #take(): Waiting {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) throw new Error('nothing waits to become durable');
    return waiting;
  }
}
