import type { ActorBehaviour, ActorKind, QueryContext } from '#runtime/commit/behaviour.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import type { Range, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';

/** Characters of a property that makes its node large: more than the rows that one step may read together. */
export const LARGE = 600_000;

/** A text of {@link LARGE} characters. */
export function largeText(word: string): string {
  return word.padEnd(LARGE, `${word} `);
}

/** Counts the large rows that commands and queries of actors read, as a whole or in pieces. */
export class LargeRows {
  #all = 0;
  #longestStep = 0;
  #inStep = 0;

  /** All of them. */
  get all(): number {
    return Math.round(this.#all);
  }

  /** Most of them between two places where the work may pause. A part of one counts as one. */
  get longestStep(): number {
    // A row is a little longer than its text.
    return Math.ceil(this.#longestStep - 0.1);
  }

  /** As {@link longestStep}, in parts of a row. */
  get longestPart(): number {
    return this.#longestStep;
  }

  reset(): void {
    this.#all = 0;
    this.#longestStep = 0;
    this.#inStep = 0;
  }

  /** The kind whose actors are counted. */
  watch(kind: ActorKind): ActorKind {
    return {
      ...kind,
      create: (context) => {
        const behaviour = kind.create(context) as ActorBehaviour;
        const { execute, query } = behaviour;
        behaviour.execute = (command, turn) =>
          this.#inSteps(execute.call(behaviour, command, this.#reader(turn)) as Generator<unknown, unknown>);
        behaviour.query = (asked, asking) => query.call(behaviour, asked, this.#context(asking));
        return behaviour;
      },
    };
  }

  #note(value: StoredValue | undefined): void {
    if (value instanceof Uint8Array && value.length >= LARGE) this.#add(1);
  }

  #add(rows: number): void {
    this.#all += rows;
    this.#inStep += rows;
    this.#longestStep = Math.max(this.#longestStep, this.#inStep);
  }

  *#noted<R extends StoredRow>(rows: Iterable<R>): Generator<R, void> {
    for (const row of rows) {
      this.#note(row.value);
      yield row;
    }
  }

  /** Reads through another reader. */
  #reader<Reader extends TableReader>(reader: Reader): Reader {
    const { get, has, peek, piece, range, stored, storedRange } = reader;
    const noted =
      <V extends StoredValue | undefined>(look: (table: number, key: string) => V) =>
      (table: number, key: string): V => {
        const value = look.call(reader, table, key);
        this.#note(value);
        return value;
      };
    const readPiece = (key: string): Uint8Array | undefined => {
      const found = piece?.call(reader, key);
      // A part of a row.
      this.#add((found?.length ?? 0) / LARGE);
      return found;
    };
    return over(reader, {
      get: noted(get),
      range: (table: number, wanted: Range) => this.#noted(range.call(reader, table, wanted)),
      ...(peek === undefined ? {} : { peek: noted(peek) }),
      ...(stored === undefined ? {} : { stored: noted(stored) }),
      ...(piece === undefined ? {} : { piece: readPiece }),
      ...(storedRange === undefined
        ? {}
        : {
            storedRange: (table: number, wanted: Range) =>
              this.#noted(storedRange.call(reader, table, wanted)),
          }),
      ...(has === undefined ? {} : { has: has.bind(reader) }),
    });
  }

  #context(context: QueryContext): QueryContext {
    const begin = (): void => {
      this.#inStep = 0;
    };
    begin();
    return over(context, {
      view: this.#reader(context.view),
      pin: (): ShardSnapshot => this.#reader(context.pin()),
      pause: () => {
        begin();
        return context.pause();
      },
      rest: () => {
        begin();
        return context.rest();
      },
      mustPause: () => {
        begin();
        return context.mustPause();
      },
    });
  }

  *#inSteps(steps: Generator<unknown, unknown>): Generator<unknown, unknown> {
    for (;;) {
      this.#inStep = 0;
      const step = steps.next();
      if (step.done === true) return step.value;
      yield;
    }
  }
}

/** An object with some of its members replaced. */
function over<T extends object>(object: T, members: object): T {
  return new Proxy(object, {
    get(target, name) {
      if (name in members) return Reflect.get(members, name) as unknown;
      const found = Reflect.get(target, name, target) as unknown;
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}
