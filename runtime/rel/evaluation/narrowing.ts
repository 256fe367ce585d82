import { pathForm } from '../values/path-methods.ts';
import { isList, isTruthy, type RelValue } from '../values/rel-value.ts';
import type { ConditionColumn } from './roots.ts';
import type { CallTerm, ComparisonTerm, Term } from './term.ts';

/**
 * What holds for every node for which a condition holds, in a form that a scan can use to look at fewer nodes. It is a
 * necessary condition, not a sufficient one: the condition must still be asked.
 */
export interface Narrowing {
  /** The node is at or below one of these paths; undefined: anywhere. None of them is below another one. */
  readonly tops: readonly string[] | undefined;
  /** The column has one of these texts; absent: any. */
  readonly values: Readonly<Partial<Record<ConditionColumn, readonly string[]>>>;
}

/** Most values of one column, and most paths. A condition with more does not narrow by them. */
export const NARROWED_MAX = 100;

/** Nothing is known of the nodes. */
export const noNarrowing: Narrowing = Object.freeze({ tops: undefined, values: Object.freeze({}) });

/**
 * The narrowing of a term.
 *
 * @returns `never` when the term holds for no node
 */
export function narrowingOf(term: Term): Narrowing | 'never' {
  switch (term.kind) {
    case 'constant':
      return isTruthy(term.value) ? noNarrowing : 'never';
    case 'fault':
      return 'never';
    case 'all':
      return term.items.map(narrowingOf).reduce(both);
    case 'any':
      // Where an item fails, those after it do not hold either, so none holds that is not counted.
      return eitherOf(term.items.map(narrowingOf));
    case 'comparison':
      return term.operator === '==' ? ofEquality(term) : noNarrowing;
    case 'call':
      return ofCall(term);
    default:
      return noNarrowing;
  }
}

/** `node.id == 'x'`, and the same with the sides exchanged. */
function ofEquality({ left, right }: ComparisonTerm): Narrowing | 'never' {
  if (left.kind === 'column' && right.kind === 'constant') return ofValues(left.column, [right.value]);
  if (right.kind === 'column' && left.kind === 'constant') return ofValues(right.column, [left.value]);
  return noNarrowing;
}

function ofCall({ of, method, arguments: given }: CallTerm): Narrowing | 'never' {
  const [argument] = given;
  if (argument === undefined) return noNarrowing;
  if (of.kind === 'constant' && argument.kind === 'column') {
    // `['a', 'b'].contains(node.id)`
    if (method.name === 'contains' && isList(of.value)) return ofValues(argument.column, of.value);
    if (method.name === 'ancestorOf' && argument.column === 'path') return ofTop(of.value);
    return noNarrowing;
  }
  if (of.kind !== 'column' || of.column !== 'path' || argument.kind !== 'constant') return noNarrowing;
  switch (method.name) {
    case 'descendantOf':
    case 'childOf':
      return ofTop(argument.value);
    case 'startsWith':
      return ofPrefix(argument.value);
    default:
      return noNarrowing;
  }
}

/** A column is a text or null, so other values are equal to none of them. */
function ofValues(column: ConditionColumn, values: readonly RelValue[]): Narrowing | 'never' {
  if (values.includes(null) || values.length > NARROWED_MAX) return noNarrowing;
  const texts = [...new Set(values.filter((value) => typeof value === 'string'))].sort();
  if (texts.length === 0) return 'never';
  const tops = column === 'path' ? topsOf(texts) : undefined;
  return Object.freeze({ tops, values: Object.freeze({ [column]: Object.freeze(texts) }) });
}

function ofTop(path: RelValue): Narrowing {
  const form = typeof path === 'string' ? pathForm(path) : undefined;
  if (form === undefined) return noNarrowing;
  return Object.freeze({ tops: topsOf([form]), values: noNarrowing.values });
}

/** A path that starts with `/a/b` or `/a/bc` is at or below `/a`; one that starts with `/a/b/` is below `/a/b`. */
function ofPrefix(prefix: RelValue): Narrowing {
  return typeof prefix === 'string' && prefix.startsWith('/')
    ? ofTop(prefix.slice(0, prefix.lastIndexOf('/')))
    : noNarrowing;
}

/** What is known when both hold. */
function both(a: Narrowing | 'never', b: Narrowing | 'never'): Narrowing | 'never' {
  if (a === 'never' || b === 'never') return 'never';
  const values: Partial<Record<ConditionColumn, readonly string[]>> = { ...a.values };
  for (const [column, texts] of columnsOf(b)) {
    const others = values[column];
    const wanted = new Set(texts);
    const common = others === undefined ? texts : others.filter((text) => wanted.has(text));
    if (common.length === 0) return 'never';
    values[column] = Object.freeze(common);
  }
  const tops = commonTops(a.tops, b.tops);
  if (tops?.length === 0) return 'never';
  return Object.freeze({ tops, values: Object.freeze(values) });
}

/** What is known when one of them holds. */
function eitherOf(all: readonly (Narrowing | 'never')[]): Narrowing | 'never' {
  const [first, ...others] = all.filter((narrowing) => narrowing !== 'never');
  if (first === undefined || others.length === 0) return first ?? 'never';
  const values: Partial<Record<ConditionColumn, readonly string[]>> = {};
  for (const [column, texts] of columnsOf(first)) {
    const further = others.map((other) => other.values[column]);
    if (!further.every((known) => known !== undefined)) continue;
    const union = new Set([...texts, ...further.flat()]);
    if (union.size <= NARROWED_MAX) values[column] = Object.freeze([...union].sort());
  }
  const tops = [first, ...others].map((narrowing) => narrowing.tops);
  const areBelow = tops.every((paths) => paths !== undefined);
  return Object.freeze({ tops: areBelow ? topsOf(tops.flat()) : undefined, values: Object.freeze(values) });
}

function columnsOf({ values }: Narrowing): readonly (readonly [ConditionColumn, readonly string[]])[] {
  return Object.entries(values) as [ConditionColumn, readonly string[]][];
}

/** Paths without those that are below others; undefined when that is everything or too many. */
function topsOf(paths: readonly string[]): readonly string[] | undefined {
  const tops: string[] = [];
  // A path precedes those below it, and nothing else comes between them.
  for (const place of paths.map(placeOf).sort()) {
    const last = tops.at(-1);
    if (last === undefined || !place.startsWith(placeOf(last))) tops.push(pathAt(place));
  }
  return tops.includes('/') || tops.length > NARROWED_MAX ? undefined : Object.freeze(tops);
}

/** The paths at or below both, of two lists that {@link topsOf} has made. */
function commonTops(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const common: string[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [x, y] = [placeOf(a[i]!), placeOf(b[j]!)];
    // Further paths of one list may be at or below the same path of the other one.
    if (x.startsWith(y)) common.push(a[i++]!);
    else if (y.startsWith(x)) common.push(b[j++]!);
    else if (x < y) i += 1;
    else j += 1;
  }
  return topsOf(common);
}

/** A path with a slash at its end: another path is at or below it when its place starts with this one. */
function placeOf(path: string): string {
  return path === '/' ? path : `${path}/`;
}

function pathAt(place: string): string {
  return place === '/' ? place : place.slice(0, -1);
}
