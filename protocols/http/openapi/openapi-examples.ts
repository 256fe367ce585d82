import { assert } from '#runtime/base/assert.ts';

/** A value of a path parameter. */
export type ParameterValue = string | number | boolean;

/** One request with its response, as an example of an operation. */
export interface Exchange {
  /** Name of the operation. */
  readonly operation: string;
  /** In camelCase; distinguishes the examples of one operation. Default `example`. */
  readonly name?: string;
  readonly summary: string;
  /** Parameters besides those that all examples share. */
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
  readonly body?: unknown;
  readonly status: number;
  /** Absent for an empty response. */
  readonly answer?: unknown;
  /** Default `application/json`. */
  readonly answerType?: string;
  /** Whether `answer` is only a part of the response. */
  readonly isExcerpt?: boolean;
}

/** Examples as OpenAPI writes them, by name. */
export type NamedExamples = Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;

const none: readonly Exchange[] = [];

/** The examples of the description by operation. */
export class Examples {
  readonly #byOperation: ReadonlyMap<string, readonly Exchange[]>;
  readonly #shared: Readonly<Record<string, ParameterValue>>;

  /** @param shared parameters of all examples, by name */
  constructor(exchanges: readonly Exchange[], shared: Readonly<Record<string, ParameterValue>>) {
    this.#byOperation = Map.groupBy(exchanges, ({ operation }) => operation);
    this.#shared = shared;
    for (const [operation, own] of this.#byOperation) {
      const names = new Set(own.map(nameOf));
      assert(names.size === own.length, `each example of ${operation} has a name of its own`);
    }
  }

  /** Every operation that has examples. */
  get operations(): readonly string[] {
    return [...this.#byOperation.keys()];
  }

  /** Examples of a parameter; path parameters fall back to the shared values. */
  ofParameter(operation: string, parameter: string): NamedExamples | undefined {
    return named(this.#of(operation), (exchange) => {
      const value = exchange.parameters?.[parameter] ?? this.#shared[parameter];
      return value === undefined ? undefined : { value };
    });
  }

  /** Examples of a request body. */
  ofBody(operation: string): NamedExamples | undefined {
    return named(this.#of(operation), ({ body, summary }) =>
      body === undefined ? undefined : { summary, value: body },
    );
  }

  /** Examples of a response with a status, in a content type. */
  ofAnswer(operation: string, status: number, contentType: string): NamedExamples | undefined {
    return named(this.#of(operation), ({ answer, answerType = 'application/json', summary, ...one }) =>
      answer === undefined || one.status !== status || answerType !== contentType
        ? undefined
        : { summary, value: answer },
    );
  }

  #of(operation: string): readonly Exchange[] {
    return this.#byOperation.get(operation) ?? none;
  }
}

function nameOf({ name = 'example' }: Exchange): string {
  return name;
}

function named(
  exchanges: readonly Exchange[],
  exampleOf: (exchange: Exchange) => NamedExamples[string] | undefined,
): NamedExamples | undefined {
  const entries = exchanges.flatMap((exchange) => {
    const example = exampleOf(exchange);
    return example === undefined ? [] : [[nameOf(exchange), example] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
