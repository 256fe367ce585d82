import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { Replica } from '#runtime/commit/replica.ts';
import { compareRevisions, formatRevision, type Revision } from '#runtime/content/revision.ts';
import { lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { LogEntry, LogRecord, Write } from '#runtime/log/log-entry.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { noteActor } from '#test/support/note-actor.ts';

/** Tables entries write to. */
const tables = [CommonTable.meta, FIRST_OWN_TABLE];

/** Changes of a large entry: more than one transaction takes. */
const LARGE = 4_500;

const names = ['a', 'b', 'c'];
const actorOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');
const everything = { start: '\u0000', end: '\u00ff' };

/** What a reader shows, as one text. */
function contentOf(reader: TableReader): string {
  return tables
    .flatMap((table) =>
      [...reader.range(table, everything)].map(
        ({ key, value }) => `${table} ${key} ${Buffer.from(value).toString('latin1')}`,
      ),
    )
    .join('\n');
}

type Step =
  | { readonly kind: 'create' | 'destroy'; readonly name: string }
  | { readonly kind: 'fork'; readonly from: string; readonly to: string }
  | { readonly kind: 'write'; readonly names: readonly string[]; readonly keys: readonly string[] }
  | { readonly kind: 'large'; readonly name: string };

const name = fc.constantFrom(...names);
const key = fc.constantFrom('k1', 'k2', 'k3', 'k4');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('destroy' as const), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('fork' as const), from: name, to: name }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      names: fc.uniqueArray(name, { minLength: 1 }),
      keys: fc.array(key, { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('large' as const), name }) },
);

/** One state an actor was in. */
interface State {
  /** Undefined while it was not there. */
  readonly content: string | undefined;
  readonly clock: Revision;
}

/** The log that some steps lead to, and every state each actor has in it. */
class History {
  readonly records: LogRecord[] = [];
  readonly states = new Map<string, State[]>(
    names.map((each) => [each, [{ content: undefined, clock: at(0) }]]),
  );
  readonly #rows = new Map<string, Map<string, string>>();

  constructor(steps: readonly Step[]) {
    for (const each of [{ kind: 'create', name: 'a' } as const, ...steps]) {
      const clock = at(this.records.length + 1);
      const entries = this.#perform(each, clock);
      if (entries.length === 0) continue;
      this.records.push({ sequence: this.records.length + 1, entries });
      for (const own of names) this.#remember(own, clock);
    }
  }

  #perform(each: Step, clock: Revision): LogEntry[] {
    switch (each.kind) {
      case 'create':
        if (this.#rows.has(each.name)) return [];
        this.#rows.set(each.name, new Map());
        return [lifecycleEntry(actorOf(each.name), { kind: 'create' }, clock)];
      case 'destroy':
        if (!this.#rows.delete(each.name)) return [];
        return [lifecycleEntry(actorId('acme', 'site~1', each.name), { kind: 'destroy' }, clock)];
      case 'fork': {
        const rows = this.#rows.get(each.from);
        if (rows === undefined || this.#rows.has(each.to)) return [];
        this.#rows.set(each.to, new Map(rows));
        return [lifecycleEntry(actorOf(each.to), { kind: 'fork', source: actorOf(each.from) }, clock)];
      }
      case 'write':
        return each.names.flatMap((own) => this.#write(own, each.keys, clock));
      case 'large':
        return this.#write(
          each.name,
          Array.from({ length: LARGE }, (_, index) => `l${index}`),
          clock,
        );
    }
  }

  /** Changes the same keys of each table: a reader that sees half of it is found out. Every third is a removal. */
  #write(own: string, keys: readonly string[], clock: Revision): LogEntry[] {
    const rows = this.#rows.get(own);
    if (rows === undefined) return [];
    const writes: Write[] = [];
    for (const table of tables) {
      for (const [index, each] of keys.entries()) {
        const isRemoved = (index + clock.ms) % 3 === 0;
        writes.push({ table, key: each, value: isRemoved ? null : Buffer.from(formatRevision(clock)) });
        if (isRemoved) rows.delete(`${table} ${each}`);
        else rows.set(`${table} ${each}`, formatRevision(clock));
      }
    }
    return [{ actor: actorOf(own), writes, clock }];
  }

  #remember(own: string, clock: Revision): void {
    const rows = this.#rows.get(own);
    const sorted = rows === undefined ? undefined : [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
    const content = sorted?.map(([row, value]) => `${row} ${value}`).join('\n');
    this.states.get(own)?.push({ content, clock });
  }
}

function at(ms: number): Revision {
  return { ms, counter: 0 };
}

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'replica-view-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function newReplica(folder: string): Replica {
  return new Replica(new ActorStore(folder, [noteActor], systemClock), systemClock, () => {});
}

/** Looks at all actors again and again, and keeps whatever cannot be. */
class Observer {
  readonly wrong: string[] = [];
  readonly #replica: Replica;
  readonly #history: History;
  readonly #seen = new Map<string, number>();
  looks = 0;
  pins: { readonly content: string; readonly reader: TableReader & { close(): void } }[] = [];

  constructor(replica: Replica, history: History) {
    this.#replica = replica;
    this.#history = history;
  }

  look(pins: boolean): void {
    for (const own of names) {
      this.looks += 1;
      const view = this.#replica.view(actorOf(own));
      const content = view === undefined ? undefined : contentOf(view.reader);
      const states = this.#history.states.get(own) as State[];
      const from = this.#seen.get(own) ?? 0;
      const found = states.findIndex((state, index) => index >= from && state.content === content);
      if (found < 0) {
        this.wrong.push(`${own} shows what it never was, or was before: ${content?.slice(0, 200)}`);
        continue;
      }
      this.#seen.set(own, found);
      if (view === undefined) continue;
      // Whatever was written up to its clock is in what it shows.
      const newest = states.findLastIndex(({ clock }) => compareRevisions(clock, view.clock) <= 0);
      if (
        states[newest]?.content !== undefined &&
        !states.slice(newest).some((each) => each.content === content)
      )
        this.wrong.push(`${own} lacks what is before ${formatRevision(view.clock)}`);
      if (pins && this.pins.length < 8) this.pins.push({ content: content as string, reader: view.pin() });
    }
  }

  /** What was pinned still shows the same, unless its shard was closed under it. */
  unpin(): void {
    for (const { content, reader } of this.pins.splice(0)) {
      try {
        if (contentOf(reader) !== content) this.wrong.push('what was pinned has changed');
      } catch (error) {
        if ((error as { code?: string }).code !== 'SHUTTING_DOWN') throw error;
      }
      reader.close();
    }
  }
}

describe('what a replica shows', () => {
  it('is at any moment of an application some state each actor was in, never an earlier one, whole in all tables', async () => {
    let round = 0;
    let looks = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 25 }),
        fc.infiniteStream(fc.nat(7)),
        async (steps, choices) => {
          round += 1;
          const history = new History(steps);
          const replica = newReplica(join(root, `r${round}`));
          const observer = new Observer(replica, history);
          const choose = (): number => choices.next().value as number;
          let isDone = false;
          const watching = (async () => {
            while (!isDone) {
              const choice = choose();
              observer.look(choice === 1);
              if (choice === 2) observer.unpin();
              // Moments inside a chain of promises as well as between turns.
              if (choice < 4) await null;
              else await new Promise((resolve) => setImmediate(resolve));
            }
          })();
          const applied: Promise<void>[] = [];
          for (const record of history.records) {
            const taken = replica.take(record);
            applied.push(taken);
            const choice = choose();
            if (choice === 0) applied.push(replica.settle());
            if (choice < 4) await taken;
            if (choice === 5) await new Promise((resolve) => setImmediate(resolve));
          }
          await Promise.all(applied);
          await replica.settle();
          isDone = true;
          await watching;
          observer.unpin();
          observer.look(false);
          looks += observer.looks;
          expect(observer.wrong).toEqual([]);
          // At the end it is the newest one.
          for (const own of names) {
            const view = replica.view(actorOf(own));
            const content = view === undefined ? undefined : contentOf(view.reader);
            expect(content).toEqual(history.states.get(own)?.at(-1)?.content);
          }
          await replica.abandon();
        },
      ),
      { numRuns: 25 },
    );
    expect(looks).toBeGreaterThan(1_000);
  }, 60_000);

  it('is gone with the replica and with the actor, and another one by its name is another one', async () => {
    const history = new History([
      { kind: 'write', names: ['a'], keys: ['k1', 'k2'] },
      { kind: 'destroy', name: 'a' },
      { kind: 'create', name: 'a' },
    ]);
    const [created, written, destroyed, again] = history.records as [
      LogRecord,
      LogRecord,
      LogRecord,
      LogRecord,
    ];
    const replica = newReplica(root);
    expect(replica.view(actorOf('a'))).toBeUndefined();
    await replica.take(created);
    await replica.take(written);
    const first = replica.view(actorOf('a'));
    expect(replica.view(actorOf('a'))).toBe(first);
    const generation = first?.reader.generation;
    const destroying = replica.take(destroyed);
    await destroying;
    expect(first?.isGone).toBe(true);
    expect(() => first?.reader.get(FIRST_OWN_TABLE, 'k1')).toThrowError(
      expect.objectContaining({ code: 'SHUTTING_DOWN' }),
    );
    expect(replica.view(actorOf('a'))).toBeUndefined();
    await replica.take(again);
    const second = replica.view(actorOf('a'));
    expect(second === first).toBe(false);
    expect(contentOf(second?.reader as TableReader)).toBe('');
    expect(generation).toBeTypeOf('number');
    await replica.abandon();
    expect(second?.isGone).toBe(true);
    expect(replica.view(actorOf('b'))).toBeUndefined();
  });

  it('changes its generation exactly when its content changes', async () => {
    const history = new History([
      { kind: 'write', names: ['a'], keys: ['k1'] },
      { kind: 'create', name: 'b' },
      { kind: 'write', names: ['b'], keys: ['k1'] },
      { kind: 'write', names: ['a'], keys: ['k2'] },
    ]);
    const replica = newReplica(root);
    for (const record of history.records.slice(0, 2)) await replica.take(record);
    const view = replica.view(actorOf('a'));
    const before = view?.reader.generation;
    await replica.settle();
    for (const record of history.records.slice(2, 4)) await replica.take(record);
    expect(view?.reader.generation).toBe(before);
    await replica.take(history.records[4] as LogRecord);
    expect(view?.reader.generation).not.toBe(before);
    await replica.abandon();
  });
});
