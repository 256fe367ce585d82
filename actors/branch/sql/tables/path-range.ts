import { compareTexts } from '#runtime/base/text/text-order.ts';
import { AFTER_END, END, LONG_PART_BYTES, textBytes } from '#runtime/shard/binary-key.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { comparedColumn, comparisonOf, constantText } from './known-conditions.ts';
import type { RowSource, ScanPart } from './row-source.ts';

/** Greater than every byte of a path. */
const ABOVE = '\u00ff';

/** An end of a range of paths. */
interface PathEnd {
  readonly path: string;
  readonly isIncluded: boolean;
}

/** A range of paths in the order of their bytes, which is that of code points. */
export class PathRange {
  readonly lower: PathEnd | undefined;
  readonly upper: PathEnd | undefined;
  /** What every path begins with. */
  readonly prefix: string | undefined;
  /** The conditions from which the range was made. */
  readonly conditions: readonly BoundExpression[];

  constructor(parts: Pick<PathRange, 'lower' | 'upper' | 'prefix' | 'conditions'>) {
    this.lower = parts.lower;
    this.upper = parts.upper;
    this.prefix = parts.prefix;
    this.conditions = parts.conditions;
  }

  /** For explanations. */
  get facts(): string {
    return this.#described((path) => path);
  }

  /** The same without the paths, for logs. */
  get shape(): string {
    return this.#described(() => '?');
  }

  #described(shown: (path: string) => string): string {
    const { lower, prefix, upper } = this;
    const facts: string[] = [];
    if (prefix !== undefined) facts.push(`path LIKE ${shown(`${prefix}%`)}`);
    if (lower !== undefined) facts.push(`path ${lower.isIncluded ? '>=' : '>'} ${shown(lower.path)}`);
    if (upper !== undefined) facts.push(`path ${upper.isIncluded ? '<=' : '<'} ${shown(upper.path)}`);
    return facts.join(' AND ');
  }

  /**
   * The nodes of the range in the order of paths. It has all of them, and may have some others.
   *
   * @param parent only the children of the node at this path; undefined: all nodes
   */
  source(workspace: string, reverse: boolean, parent?: string): RowSource {
    const after = reverse ? this.#last() : this.#first();
    if (after === undefined) return { kind: 'none' };
    const isBehind = (path: string): boolean => (reverse ? this.#isBefore(path) : this.#isAfter(path));
    const children = parent === undefined ? {} : { below: parent, isChildren: true };
    const part: ScanPart = { source: { kind: 'paths', workspace, ...children }, reverse, after, isBehind };
    return { kind: 'scans', parts: [part] };
  }

  /** The position behind which the first path comes; undefined: there is none. */
  #first(): string | undefined {
    const { lower, prefix } = this;
    const starts = [
      ...(prefix === undefined ? [] : [firstPosition(prefix, true)]),
      ...(lower === undefined ? [] : [firstPosition(lower.path, lower.isIncluded)]),
    ];
    const first = starts.reduce((a, b) => (a > b ? a : b), '');
    return first > `/${ABOVE}` ? undefined : first;
  }

  /** As {@link #first}, backwards. */
  #last(): string | undefined {
    const { prefix, upper } = this;
    const ends = [
      ...(prefix === undefined ? [] : [lastPosition(prefix, ABOVE)]),
      ...(upper === undefined ? [] : [lastPosition(upper.path, upper.isIncluded ? AFTER_END : '')]),
    ];
    const last = ends.reduce((a, b) => (a < b ? a : b), `/${ABOVE}`);
    return last < '/' ? undefined : last;
  }

  #isAfter(path: string): boolean {
    const { prefix, upper } = this;
    if (prefix !== undefined && !path.startsWith(prefix) && compareTexts(path, prefix) > 0) return true;
    if (upper === undefined) return false;
    const order = compareTexts(path, upper.path);
    return upper.isIncluded ? order > 0 : order >= 0;
  }

  #isBefore(path: string): boolean {
    const { lower, prefix } = this;
    if (prefix !== undefined && compareTexts(path, prefix) < 0) return true;
    if (lower === undefined) return false;
    const order = compareTexts(path, lower.path);
    return lower.isIncluded ? order < 0 : order <= 0;
  }
}

/** A position before a path, or at it. In keys a long path has no place among those with the same beginning. */
function firstPosition(path: string, isIncluded: boolean): string {
  const bytes = textBytes(path);
  if (bytes.length >= LONG_PART_BYTES) return bytes.slice(0, LONG_PART_BYTES - 1) + END;
  // A position that ends so is before its path.
  return isIncluded ? bytes + END : bytes;
}

function lastPosition(path: string, end: string): string {
  const bytes = textBytes(path);
  return bytes.length >= LONG_PART_BYTES ? bytes.slice(0, LONG_PART_BYTES - 1) + ABOVE : bytes + end;
}

/** The range of paths that conditions allow; undefined where they do not narrow it. */
export function pathRangeOf(conditions: readonly BoundExpression[], relation: number): PathRange | undefined {
  let lower: PathEnd | undefined;
  let upper: PathEnd | undefined;
  let prefix: string | undefined;
  const used: BoundExpression[] = [];
  for (const condition of conditions) {
    const start = prefixIn(condition, relation);
    if (start !== undefined) {
      used.push(condition);
      if (prefix === undefined || start.length > prefix.length) prefix = start;
      continue;
    }
    const end = endIn(condition, relation);
    if (end === undefined) continue;
    used.push(condition);
    if (end.isLower) lower = lower === undefined || compareTexts(end.path, lower.path) > 0 ? end : lower;
    else upper = upper === undefined || compareTexts(end.path, upper.path) < 0 ? end : upper;
  }
  return used.length === 0 ? undefined : new PathRange({ lower, upper, prefix, conditions: used });
}

function endIn(
  condition: BoundExpression,
  relation: number,
): (PathEnd & { readonly isLower: boolean }) | undefined {
  const found = comparisonOf(condition);
  if (found === undefined || comparedColumn(found.operand, relation) !== 'path') return undefined;
  const { operator, values } = found;
  const [path] = values;
  if (operator === '=' || typeof path !== 'string') return undefined;
  return { path, isIncluded: operator === '>=' || operator === '<=', isLower: operator.startsWith('>') };
}

/** What every path begins with for which a condition holds. */
function prefixIn(condition: BoundExpression, relation: number): string | undefined {
  if (condition.kind !== 'call') return undefined;
  const [operand, given] = condition.args;
  if (operand === undefined || comparedColumn(operand, relation) !== 'path') return undefined;
  const text = constantText(given);
  if (text === undefined) return undefined;
  switch (condition.function.name) {
    case 'LIKE': {
      const end = text.search(/[%_\\]/);
      const prefix = end === -1 ? text : text.slice(0, end);
      return prefix === '' ? undefined : prefix;
    }
    case 'PATH_STARTS_WITH':
      return text === '' ? undefined : text;
    case 'DESCENDANT_OF':
      return text === '/' ? undefined : `${text}/`;
    default:
      return undefined;
  }
}
