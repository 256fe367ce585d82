type Json = unknown;

/** Names of what is made by the server and another one each time: ids and revisions. */
const NAMES = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b\d{12,}-\d+\b/g;

/** Times, tokens and versions: others each time, and no later request depends on them. */
const PASSING =
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|^eyJ[\w.-]+$|^svc_(?:[0-9A-Za-z]{12}|[0-9A-Za-z]{32})$|^\d+\.\d+\.\d+(?:-\w+)?$/g;

/** Fields whose value is another one each time; of a field that is null in the example, anything. */
const passingFields: ReadonlySet<string> = new Set([
  'acquired_at_ms',
  'actors',
  'actors_total',
  'bytes',
  'bytes_total',
  'current',
  'execution_time_ms',
  'expires_at',
  'expires_at_ms',
  'load',
  'newest_change',
  'next_cursor',
  'oldest_change',
]);

function isObject(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function skeletonOf(text: string): string {
  return text.replaceAll(NAMES, '<name>').replaceAll(PASSING, '<passing>');
}

/** A field of numbers that counts milliseconds of a revision, and the revision it belongs to. */
const REVISION_MS = /^\d{12,}$/;

/**
 * What stands in examples, and what a server has in its place. Answers are compared with their examples: what has to be
 * the same is, and of ids and revisions it is learnt what they are here, so that later requests can have them.
 */
export class ExampleValues {
  readonly #here = new Map<string, string>();

  /** What the example has, as it is here. */
  here<T extends Json>(example: T): T {
    if (typeof example === 'string') {
      return example.replaceAll(NAMES, (name) => this.#here.get(name) ?? name) as T;
    }
    if (Array.isArray(example)) return example.map((item: Json) => this.here(item)) as T;
    if (!isObject(example)) return example;
    return Object.fromEntries(Object.entries(example).map(([key, value]) => [key, this.here(value)])) as T;
  }

  /**
   * Compares an answer with its example.
   *
   * @param isExcerpt whether the answer may have more: fields of objects, items of arrays, text around it
   * @returns where they differ
   */
  differences(example: Json, answer: Json, isExcerpt: boolean, at = ''): readonly string[] {
    if (typeof example === 'string') return this.#ofText(example, answer, isExcerpt, at);
    if (Array.isArray(example)) return this.#ofArray(example, answer, isExcerpt, at);
    if (isObject(example)) return this.#ofObject(example, answer, isExcerpt, at);
    const isRevisionMs = [example, answer].every((one) => REVISION_MS.test(String(one)));
    return example === answer || isRevisionMs ? [] : [differs(at, example, answer)];
  }

  #ofText(example: string, answer: Json, isExcerpt: boolean, at: string): readonly string[] {
    if (typeof answer !== 'string') return [differs(at, example, answer)];
    const [wanted, given] = [skeletonOf(example), skeletonOf(answer)];
    if (isExcerpt ? !given.includes(wanted) : given !== wanted) return [differs(at, example, answer)];
    if (isExcerpt) return [];
    const names = example.match(NAMES) ?? [];
    const there = answer.match(NAMES) ?? [];
    return names.flatMap((name, index) => {
      const known = this.#here.get(name);
      const found = there[index] as string;
      if (known === undefined) this.#here.set(name, found);
      return known === undefined || known === found ? [] : [differs(at, this.here(example), answer)];
    });
  }

  #ofArray(example: readonly Json[], answer: Json, isExcerpt: boolean, at: string): readonly string[] {
    if (!Array.isArray(answer)) return [differs(at, example, answer)];
    if (!isExcerpt && answer.length !== example.length) return [differs(at, example, answer)];
    return example.flatMap((item, index) => {
      if (!isExcerpt) return this.differences(item, answer[index], false, `${at}/${index}`);
      const tries = (answer as readonly Json[]).map((one) =>
        this.differences(item, one, true, `${at}/${index}`),
      );
      return tries.some((found) => found.length === 0) ? [] : [differs(`${at}/${index}`, item, answer)];
    });
  }

  #ofObject(
    example: Readonly<Record<string, Json>>,
    answer: Json,
    isExcerpt: boolean,
    at: string,
  ): readonly string[] {
    if (!isObject(answer)) return [differs(at, example, answer)];
    const more = Object.keys(answer).filter((key) => !Object.hasOwn(example, key));
    return [
      ...(isExcerpt ? [] : more.map((key) => `${at}/${key} is not in the example`)),
      ...Object.entries(example).flatMap(([key, value]) => {
        if (!Object.hasOwn(answer, key)) return [`${at}/${key} is not in the answer`];
        if (passingFields.has(key)) return [];
        return this.differences(value, answer[key], isExcerpt, `${at}/${key}`);
      }),
    ];
  }
}

function differs(at: string, example: Json, answer: Json): string {
  return `${at} is ${JSON.stringify(answer)} and ${JSON.stringify(example)} in the example`;
}
