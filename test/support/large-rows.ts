import type { ActorBehaviour, ActorKind, QueryContext } from '#runtime/commit/behaviour.ts';
import type { Range, Row, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';

/** Characters of a property that makes its node large: more than the rows that one step may read together. */
export const LARGE = 600_000;

/** A text of {@link LARGE} characters. */
export function largeText(word: string): string {
  return word.padEnd(LARGE, `${word} `);
}

/** Counts the large rows that commands and queries of actors read: each is copied and checked as a whole. */
export class LargeRows {
  /** All of them. */
  all = 0;
  /** Most of them between two places where the work may pause. */
  longestStep = 0;
  #inStep = 0;

  reset(): void {
    Object.assign(this, { all: 0, longestStep: 0 });
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

  #note(value: Uint8Array | undefined): void {
    if (value === undefined || value.length < LARGE) return;
    this.all += 1;
    this.#inStep += 1;
    this.longestStep = Math.max(this.longestStep, this.#inStep);
  }

  *#noted(rows: Iterable<Row>): Generator<Row, void> {
    for (const row of rows) {
      this.#note(row.value);
      yield row;
    }
  }

  /** Reads through another reader. */
  #reader<Reader extends TableReader>(reader: Reader): Reader {
    const { get, has, peek, range } = reader;
    const noted = (look: TableReader['get']) => (table: number, key: string) => {
      const value = look.call(reader, table, key);
      this.#note(value);
      return value;
    };
    return over(reader, {
      get: noted(get),
      range: (table: number, wanted: Range) => this.#noted(range.call(reader, table, wanted)),
      ...(peek === undefined ? {} : { peek: noted(peek) }),
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
