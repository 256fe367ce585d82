import { assert } from '#runtime/base/assert.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { LogEntry, LogRecord, RecordMark } from '#runtime/log/log-entry.ts';
import type { Log, PendingRange } from '#runtime/log/ports.ts';

/** An entry as text, so that two can be compared. */
function textOf({ actor, writes, clock }: LogEntry): string {
  const plain = writes.map(({ table, key, value }) => [
    table,
    key,
    value === null ? null : Buffer.from(value).toString('latin1'),
  ]);
  return JSON.stringify([actor, clock, plain]);
}

function copyOf({ actor, writes, clock }: LogEntry): LogEntry {
  return {
    actor,
    clock,
    writes: writes.map((write) => ({
      ...write,
      value: write.value === null ? null : Uint8Array.from(write.value),
    })),
  };
}

/** What a log acknowledged, kept outside of every simulated process: the truth all checks refer to. */
export class Shadow {
  /** Acknowledged entries by sequence. */
  readonly records = new Map<number, LogEntry[]>();
  #sent: LogEntry[] = [];

  /** Notes an entry on its way to the log. */
  send(entry: LogEntry): LogEntry {
    const copy = copyOf(entry);
    this.#sent.push(copy);
    return copy;
  }

  /** Notes that an entry is durable. */
  acknowledge(sequence: number, entry: LogEntry): void {
    this.records.set(sequence, [...(this.records.get(sequence) ?? []), entry]);
    this.#sent = this.#sent.filter((sent) => sent !== entry);
  }

  /** Notes that an entry was refused and is certainly not in the log. */
  refuse(entry: LogEntry): void {
    this.#sent = this.#sent.filter((sent) => sent !== entry);
  }

  /**
   * Compares what a reopened log holds with what was acknowledged, and takes over entries whose outcome nobody
   * heard of.
   *
   * @param keepsAll whether everything acknowledged must be there
   */
  async reconcile(log: Log, keepsAll: boolean): Promise<void> {
    const newest = Math.max(0, ...this.records.keys());
    assert(
      !keepsAll || log.lastSequence >= newest,
      `the log ends at ${log.lastSequence}, acknowledged was ${newest}`,
    );
    for (const sequence of this.records.keys())
      if (sequence > log.lastSequence) this.records.delete(sequence);
    for await (const { sequence, entries } of log.read(0)) this.#take({ sequence, entries });
    for (let sequence = 1; sequence <= log.lastSequence; sequence += 1)
      assert(this.records.has(sequence), `nobody knows of record ${sequence}`);
    this.#sent = [];
  }

  /** The acknowledged entries of an actor, oldest first. */
  entriesOf(actor: string): LogEntry[] {
    const sequences = [...this.records.keys()].sort((a, b) => a - b);
    return sequences
      .flatMap((sequence) => this.records.get(sequence) ?? [])
      .filter((entry) => entry.actor === actor);
  }

  #take({ sequence, entries }: LogRecord): void {
    const known = this.records.get(sequence) ?? [];
    const texts = entries.map(textOf);
    // Of one record some may have been heard of when the process died, never others than the first.
    for (const [index, entry] of known.entries())
      assert(textOf(entry) === texts[index], `record ${sequence} is another than was acknowledged`);
    for (const text of texts.slice(known.length)) {
      assert(
        this.#sent.some((sent) => textOf(sent) === text),
        `record ${sequence} was never sent`,
      );
    }
    this.records.set(sequence, entries.map(copyOf));
  }
}

/** A log that tells a {@link Shadow} what became of each entry, unless its process is gone. */
export class WatchedLog implements Log {
  readonly #log: Log;
  readonly #shadow: Shadow;
  readonly #isAlive: () => boolean;

  constructor(log: Log, shadow: Shadow, isAlive: () => boolean) {
    this.#log = log;
    this.#shadow = shadow;
    this.#isAlive = isAlive;
  }

  async append(entry: LogEntry): Promise<number> {
    const sent = this.#shadow.send(entry);
    try {
      const sequence = await this.#log.append(entry);
      if (this.#isAlive()) this.#shadow.acknowledge(sequence, sent);
      return sequence;
    } catch (error) {
      // The process that waits for this is gone.
      if (!this.#isAlive()) return new Promise<never>(() => {});
      if ((error as { code?: string }).code === 'STORAGE_FULL') this.#shadow.refuse(sent);
      throw error;
    }
  }

  read(afterSequence: number): AsyncIterable<LogRecord> {
    return this.#log.read(afterSequence);
  }

  released(actor: string, sequence: number): void {
    this.#log.released(actor, sequence);
  }

  pending(): ReadonlyMap<string, PendingRange> {
    return this.#log.pending();
  }

  get lastSequence(): number {
    return this.#log.lastSequence;
  }

  get lastClock(): Revision {
    return this.#log.lastClock;
  }

  flush(actor?: string): Promise<number> {
    return this.#log.flush(actor);
  }

  applied(actor: string, sequence: number, mark: RecordMark | undefined): void {
    this.#log.applied?.(actor, sequence, mark);
  }

  markOf(actor: string, sequence: number): RecordMark | undefined {
    return this.#log.markOf?.(actor, sequence);
  }

  confirm(): Promise<void> | undefined {
    return this.#log.confirm();
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}
