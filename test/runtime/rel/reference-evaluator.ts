import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Caller, ConditionNode } from '#runtime/rel/ports.ts';
import type { Expression } from '#runtime/rel/syntax/expression.ts';
import { type RelValue, WholeFloat } from '#runtime/rel/values/rel-value.ts';
import type { Edge } from './condition-world.ts';

/** A value whose kind is explicit. It shares nothing with the product, so that a mistake there is not made here too. */
export type PlainValue =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: readonly PlainValue[] }
  | { readonly kind: 'object'; readonly entries: ReadonlyMap<string, PlainValue> };

/** Why a condition has no value. */
export class Refused extends Error {}

/** What a condition is evaluated with. */
export interface Plain {
  readonly caller: Caller;
  readonly node: ConditionNode;
  readonly edges: readonly Edge[];
}

const none: PlainValue = { kind: 'null' };
const truth = (value: boolean): PlainValue => ({ kind: 'boolean', value });
const text = (value: string): PlainValue => ({ kind: 'string', value });
const whole = (value: bigint): PlainValue => ({ kind: 'integer', value });
const textOrNull = (value: string | null): PlainValue => (value === null ? none : text(value));
const texts = (values: readonly string[]): PlainValue => ({ kind: 'array', items: values.map(text) });

const largest = 9223372036854775807n;
const smallest = -9223372036854775808n;

/** Parts of a number's decimal digits: `digits * 10^exponent`. */
function decimal(value: bigint | number): { digits: bigint; exponent: number } {
  if (typeof value === 'bigint') return { digits: value, exponent: 0 };
  const [mantissa, power = '0'] = String(value).split('e') as [string, string?];
  const [front, fraction = ''] = mantissa.split('.') as [string, string?];
  return { digits: BigInt(front + fraction), exponent: Number(power) - fraction.length };
}

function orderOf(a: bigint | number, b: bigint | number): number {
  const [x, y] = [decimal(a), decimal(b)];
  const exponent = Math.min(x.exponent, y.exponent);
  const left = x.digits * 10n ** BigInt(x.exponent - exponent);
  const right = y.digits * 10n ** BigInt(y.exponent - exponent);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A value of the product with its kind. */
export function plainOf(value: RelValue): PlainValue {
  if (value === null) return none;
  if (value instanceof WholeFloat) return { kind: 'float', value: value.number };
  switch (typeof value) {
    case 'boolean':
      return truth(value);
    case 'string':
      return text(value);
    case 'bigint':
      return whole(value);
    case 'number': {
      const isInteger =
        Number.isInteger(value) && orderOf(value, largest) <= 0 && orderOf(value, smallest) >= 0;
      return isInteger ? whole(BigInt(String(value))) : { kind: 'float', value };
    }
    default:
      break;
  }
  if (Array.isArray(value)) return { kind: 'array', items: value.map(plainOf) };
  return {
    kind: 'object',
    entries: new Map(Object.entries(value).map(([key, item]) => [key, plainOf(item)])),
  };
}

/** A stored value as conditions see it. */
function seen(value: JsonValue): PlainValue {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(seen) };
  if (typeof value !== 'object' || value === null) return plainOf(value as RelValue);
  const entries = new Map(Object.entries(value));
  const textAt = (key: string): string | undefined => {
    const found = entries.get(key);
    return typeof found === 'string' ? found : undefined;
  };
  if (textAt('svc:ref')) return text(textAt('svc:ref')!);
  if (textAt('svc:url') !== undefined) return text(textAt('svc:url')!);
  if (textAt('element_type') !== undefined) return none;
  if (textAt('uuid') !== undefined && textAt('mime_type') !== undefined) return text(textAt('uuid')!);
  if (textAt('type') === 'GeometryCollection' && Array.isArray(entries.get('geometries'))) return none;
  const shapes = ['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon'];
  if (shapes.includes(textAt('type') ?? '') && Array.isArray(entries.get('coordinates'))) return none;
  return { kind: 'object', entries: new Map([...entries].map(([key, item]) => [key, seen(item)])) };
}

function isTrue(value: PlainValue): boolean {
  switch (value.kind) {
    case 'null':
      return false;
    case 'boolean':
      return value.value;
    case 'integer':
      return value.value !== 0n;
    case 'float':
      return value.value !== 0;
    case 'string':
      return value.value.length > 0;
    case 'array':
      return value.items.length > 0;
    case 'object':
      return value.entries.size > 0;
  }
}

function isSame(a: PlainValue, b: PlainValue): boolean {
  const isNumber = (value: PlainValue): value is PlainValue & { value: bigint | number } =>
    value.kind === 'integer' || value.kind === 'float';
  if (isNumber(a) && isNumber(b)) return orderOf(a.value, b.value) === 0;
  if (a.kind === 'array' && b.kind === 'array')
    return a.items.length === b.items.length && a.items.every((item, index) => isSame(item, b.items[index]!));
  if (a.kind === 'object' && b.kind === 'object') {
    const others = b.entries;
    return (
      a.entries.size === others.size &&
      [...a.entries].every(([key, item]) => others.has(key) && isSame(item, others.get(key)!))
    );
  }
  if (a.kind === 'null' && b.kind === 'null') return true;
  return 'value' in a && 'value' in b && a.kind === b.kind && a.value === b.value;
}

function columnOf(node: ConditionNode, name: string): PlainValue | undefined {
  switch (name) {
    case 'id':
      return text(node.id);
    case 'name':
      return text(node.name);
    case 'path':
      return text(node.path);
    case 'node_type':
      return text(node.nodeType);
    case 'created_by':
      return textOrNull(node.createdBy);
    case 'updated_by':
      return textOrNull(node.updatedBy);
    case 'owner_id':
      return textOrNull(node.ownerId);
    case 'workspace':
      return text(node.workspace);
    default:
      return undefined;
  }
}

function callerValue(caller: Caller, name: string): PlainValue {
  switch (name) {
    case 'user_id':
      return textOrNull(caller.userId);
    case 'local_user_id':
      return textOrNull(caller.localUserId);
    case 'email':
      return textOrNull(caller.email);
    case 'home':
      return textOrNull(caller.home);
    case 'roles':
      return texts(caller.roles);
    case 'groups':
      return texts(caller.groups);
    case 'is_anonymous':
      return truth(caller.isAnonymous);
    case 'is_system':
      return truth(caller.isSystem);
    case 'acting_as_ward':
      return textOrNull(caller.actingAsWard);
    case 'active_stewardship_source':
      return textOrNull(caller.activeStewardshipSource);
    default:
      throw new Refused(`auth.${name}`);
  }
}

/** Walks the tree and computes its value. @throws {Refused} where the language has an error */
export function reference(expression: Expression, plain: Plain): PlainValue {
  const at = (of: Expression): PlainValue => reference(of, plain);
  switch (expression.kind) {
    case 'literal':
      return plainOf(expression.value);
    case 'root':
      throw new Refused(expression.name);
    case 'member':
      return member(expression.of, expression.name, plain);
    case 'index':
      return index(expression.of, at(expression.index), plain);
    case 'call': {
      const known = arities[expression.method];
      const count = expression.arguments.length;
      if (known === undefined || count < known[0] || count > known[1]) throw new Refused(expression.method);
      const of = at(expression.of);
      const given = expression.arguments.map(at);
      return of.kind === 'null' ? none : call(of, expression.method, given);
    }
    case 'not':
      return truth(!isTrue(at(expression.of)));
    case 'negate': {
      const of = at(expression.of);
      if (of.kind === 'integer') return checked(-inRange(of.value));
      if (of.kind === 'float') return float(-of.value);
      throw new Refused('negate');
    }
    case 'arithmetic':
      return arithmetic(expression.operator, at(expression.left), at(expression.right));
    case 'comparison':
      return comparison(expression.operator, at(expression.left), at(expression.right));
    case 'all':
      for (const item of expression.items) if (!isTrue(at(item))) return truth(false);
      return truth(true);
    case 'any':
      for (const item of expression.items) if (isTrue(at(item))) return truth(true);
      return truth(false);
    case 'relates': {
      const [from, to] = [at(expression.from), at(expression.to)];
      if (from.kind !== 'string' || to.kind !== 'string') throw new Refused('RELATES');
      return truth(isRelated(from.value, to.value, expression.depthMax, expression, plain.edges));
    }
  }
}

function isRelated(
  from: string,
  to: string,
  left: number,
  wanted: Expression & { kind: 'relates' },
  edges: readonly Edge[],
): boolean {
  const gone = wanted.depthMax - left;
  if (gone >= wanted.depthMin && from === to) return true;
  if (left === 0) return false;
  return edges.some(([source, type, target]) => {
    if (!wanted.types.includes(type)) return false;
    const ahead = wanted.direction !== 'INCOMING' && source === from;
    const back = wanted.direction !== 'OUTGOING' && target === from;
    return (
      (ahead && isRelated(target, to, left - 1, wanted, edges)) ||
      (back && isRelated(source, to, left - 1, wanted, edges))
    );
  });
}

function member(of: Expression, name: string, plain: Plain): PlainValue {
  if (of.kind === 'root') {
    if (of.name === 'auth') return callerValue(plain.caller, name);
    if (of.name !== 'node') throw new Refused(of.name);
    const column = columnOf(plain.node, name);
    if (column !== undefined) return column;
    const property = plain.node.property(name, Number.POSITIVE_INFINITY);
    return property === undefined ? none : seen(property as JsonValue);
  }
  const value = reference(of, plain);
  return (value.kind === 'object' ? value.entries.get(name) : undefined) ?? none;
}

function index(of: Expression, key: PlainValue, plain: Plain): PlainValue {
  if (of.kind === 'root') {
    if (of.name !== 'auth' && of.name !== 'node') throw new Refused(of.name);
    if (key.kind !== 'string') throw new Refused('index');
    if (of.name === 'node' && columnOf(plain.node, key.value) === undefined) {
      if (plain.node.property(key.value, Number.POSITIVE_INFINITY) === undefined)
        throw new Refused(key.value);
    }
    return member(of, key.value, plain);
  }
  const value = reference(of, plain);
  if (value.kind === 'null') return none;
  if (value.kind === 'array' && key.kind === 'integer') {
    const item = key.value < 0n ? undefined : value.items[Number(key.value)];
    if (item !== undefined) return item;
  }
  if (value.kind === 'object' && key.kind === 'string') {
    const item = value.entries.get(key.value);
    if (item !== undefined) return item;
  }
  throw new Refused('index');
}

function inRange(value: bigint): bigint {
  if (value < smallest || value > largest) throw new Refused('beyond 64 bits');
  return value;
}

function checked(value: bigint): PlainValue {
  return whole(inRange(value));
}

function float(value: number): PlainValue {
  if (!Number.isFinite(value)) throw new Refused('no float');
  return { kind: 'float', value: value === 0 ? 0 : value };
}

function arithmetic(operator: string, a: PlainValue, b: PlainValue): PlainValue {
  if (operator === '+' && a.kind === 'string' && b.kind === 'string') return text(a.value + b.value);
  if (a.kind === 'integer' && b.kind === 'integer') {
    const [x, y] = [inRange(a.value), inRange(b.value)];
    if (operator === '+') return checked(x + y);
    if (operator === '-') return checked(x - y);
    if (operator === '*') return checked(x * y);
    if (y === 0n) throw new Refused('zero');
    return checked(operator === '/' ? x / y : x % y);
  }
  const [x, y] = [a, b].map((value) => {
    if (value.kind === 'integer') return Number(inRange(value.value));
    if (value.kind === 'float') return value.value;
    throw new Refused('no number');
  }) as [number, number];
  if (operator === '+') return float(x + y);
  if (operator === '-') return float(x - y);
  if (operator === '*') return float(x * y);
  if (y === 0) throw new Refused('zero');
  return float(operator === '/' ? x / y : x % y);
}

function comparison(operator: string, a: PlainValue, b: PlainValue): PlainValue {
  if (operator === '==') return truth(isSame(a, b));
  if (operator === '!=') return truth(!isSame(a, b));
  let order: number;
  if (a.kind === 'string' && b.kind === 'string')
    order = Buffer.compare(Buffer.from(a.value), Buffer.from(b.value));
  else if ((a.kind === 'integer' || a.kind === 'float') && (b.kind === 'integer' || b.kind === 'float'))
    order = orderOf(a.value, b.value);
  else throw new Refused('no order');
  return truth({ '<': order < 0, '>': order > 0, '<=': order <= 0, '>=': order >= 0 }[operator]!);
}

const arities: Readonly<Record<string, readonly [number, number] | undefined>> = Object.assign(
  Object.create(null),
  {
    length: [0, 0],
    isEmpty: [0, 0],
    isNotEmpty: [0, 0],
    contains: [1, 1],
    startsWith: [1, 1],
    endsWith: [1, 1],
    toLowerCase: [0, 0],
    toUpperCase: [0, 0],
    trim: [0, 0],
    substring: [1, 2],
    first: [0, 0],
    last: [0, 0],
    indexOf: [1, 1],
    join: [0, 1],
    parent: [0, 1],
    ancestor: [1, 1],
    depth: [0, 0],
    ancestorOf: [1, 1],
    descendantOf: [1, 1],
    childOf: [1, 1],
  },
);

/** The names of all methods. */
export const methodNames: readonly string[] = Object.keys(arities);

function call(of: PlainValue, method: string, given: readonly PlainValue[]): PlainValue {
  const [first, second] = given;
  switch (method) {
    case 'length':
    case 'isEmpty':
    case 'isNotEmpty': {
      const size = sizeOf(of);
      if (method === 'length') return whole(BigInt(size));
      return truth((size === 0) === (method === 'isEmpty'));
    }
    case 'contains':
      return of.kind === 'array'
        ? truth(of.items.some((item) => isSame(item, first!)))
        : truth(textOf(of).includes(textOf(first!)));
    case 'startsWith':
      return truth(textOf(of).slice(0, textOf(first!).length) === textOf(first!));
    case 'endsWith': {
      const end = textOf(first!);
      return truth(
        textOf(of).length >= end.length && textOf(of).slice(textOf(of).length - end.length) === end,
      );
    }
    case 'toLowerCase':
      return text(textOf(of).toLowerCase());
    case 'toUpperCase':
      return text(textOf(of).toUpperCase());
    case 'trim':
      return text(textOf(of).trim());
    case 'substring': {
      const characters = [...textOf(of)];
      const place = (value: bigint): number => Number(value < 0n ? 0n : value > 1_000n ? 1_000n : value);
      const end = second === undefined ? 1_000n : integerOf(second);
      return text(characters.slice(place(integerOf(first!)), place(end)).join(''));
    }
    case 'first':
      return listOf(of)[0] ?? none;
    case 'last':
      return listOf(of)[listOf(of).length - 1] ?? none;
    case 'indexOf':
      return whole(BigInt(listOf(of).findIndex((item) => isSame(item, first!))));
    case 'join':
      return text(
        listOf(of)
          .map(textOf)
          .join(first === undefined ? '' : textOf(first)),
      );
    default:
      return path(of, method, first);
  }
}

function sizeOf(of: PlainValue): number {
  if (of.kind === 'string') return [...of.value].length;
  if (of.kind === 'array') return of.items.length;
  if (of.kind === 'object') return of.entries.size;
  throw new Refused('no size');
}

function textOf(value: PlainValue): string {
  if (value.kind !== 'string') throw new Refused('no string');
  return value.value;
}

function listOf(value: PlainValue): readonly PlainValue[] {
  if (value.kind !== 'array') throw new Refused('no list');
  return value.items;
}

function integerOf(value: PlainValue): bigint {
  if (value.kind !== 'integer') throw new Refused('no integer');
  return inRange(value.value);
}

/** The names of a path; undefined for the text above the root. */
function namesOf(value: PlainValue): readonly string[] | undefined {
  const given = textOf(value);
  if (given === '') return undefined;
  if (given === '/') return [];
  const names = given.split('/');
  if (names.shift() !== '') throw new Refused('no path');
  if (names.at(-1) === '') names.pop();
  if (names.length === 0 || names.includes('')) throw new Refused('no path');
  return names;
}

function pathOf(names: readonly string[]): PlainValue {
  return text(`/${names.join('/')}`);
}

function path(of: PlainValue, method: string, argument: PlainValue | undefined): PlainValue {
  switch (method) {
    case 'parent': {
      const steps = argument === undefined ? 1n : integerOf(argument);
      const names = namesOf(of);
      if (steps < 0n) throw new Refused('negative');
      if (names === undefined || steps > BigInt(names.length)) return text('');
      return pathOf(names.slice(0, names.length - Number(steps)));
    }
    case 'ancestor': {
      const count = integerOf(argument!);
      const names = namesOf(of);
      if (names === undefined || count < 1n || count > BigInt(names.length)) return text('');
      return pathOf(names.slice(0, Number(count)));
    }
    case 'depth':
      return whole(BigInt(namesOf(of)?.length ?? 0));
    case 'ancestorOf':
      return truth(isBelow(namesOf(argument!), namesOf(of)));
    case 'descendantOf':
      return truth(isBelow(namesOf(of), namesOf(argument!)));
    default: {
      const [names, above] = [namesOf(of), namesOf(argument!)];
      return truth(isBelow(names, above) && names!.length === above!.length + 1);
    }
  }
}

function isBelow(names: readonly string[] | undefined, above: readonly string[] | undefined): boolean {
  if (names === undefined || above === undefined || names.length <= above.length) return false;
  return above.every((name, place) => names[place] === name);
}
