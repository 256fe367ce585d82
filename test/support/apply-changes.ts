import { isJsonArray, isJsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';

/** A change as an answer has it; a side without a value has no key. */
export interface AppliedChange {
  readonly path: string;
  readonly before?: JsonValue | undefined;
  readonly after?: JsonValue | undefined;
}

type Container = Record<string, JsonValue> | JsonValue[];

/**
 * Applies changes to a value, one after the other, as a client would. What `before` says must be there.
 *
 * @returns a copy; the value is left as it is
 */
export function applyChanges(value: JsonValue, changes: readonly AppliedChange[]): JsonValue {
  const root: Record<string, JsonValue> = { value: structuredClone(value) };
  for (const { path, before, after } of changes) {
    const keys = ['value', ...path.split('/').slice(1).map(unescaped)];
    const last = keys.pop() as string;
    const container = keys.reduce<Container>((inner, key) => own(inner, key) as Container, root);
    const found = own(container, last);
    if (!equal(found, before)) throw new Error(`${path} has ${JSON.stringify(found)} before the change`);
    put(container, last, after);
  }
  return own(root, 'value') as JsonValue;
}

function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}

function own(container: Container, key: string): JsonValue | undefined {
  return Object.hasOwn(container, key) ? (container as Record<string, JsonValue>)[key] : undefined;
}

function put(container: Container, key: string, value: JsonValue | undefined): void {
  if (!isJsonArray(container)) {
    if (value === undefined) delete container[key];
    else setKey(container, key, structuredClone(value));
    return;
  }
  const index = Number(key);
  if (value !== undefined) container[index] = structuredClone(value);
  else if (index === container.length - 1) container.pop();
  else throw new Error(`item ${key} is removed before those behind it`);
}

function equal(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  if (isJsonArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}
