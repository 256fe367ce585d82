import { type ConditionColumn, conditionColumns } from './roots.ts';
import { operandsOf, type Term } from './term.ts';

/** What a condition may read. It reads nothing else. */
export interface ConditionNeeds {
  /** The columns of the node, by their names in conditions, sorted. */
  readonly columns: readonly ConditionColumn[];
  /** The properties of the node, as far as their names are known beforehand, sorted. */
  readonly properties: readonly string[];
  /** Whether it may read properties whose names it computes: any of them. */
  readonly anyProperty: boolean;
  /** Whether it reads properties at all. */
  readonly readsProperties: boolean;
  /** Whether it asks for relations. */
  readonly relations: boolean;
}

/** What is needed to evaluate a term. */
export function needsOf(term: Term): ConditionNeeds {
  const found = {
    columns: new Set<ConditionColumn>(),
    properties: new Set<string>(),
    any: false,
    relations: false,
  };
  collect(term, found);
  const anyProperty = found.any;
  return Object.freeze({
    columns: Object.freeze(anyProperty ? [...conditionColumns].sort() : [...found.columns].sort()),
    properties: Object.freeze([...found.properties].sort()),
    anyProperty,
    readsProperties: anyProperty || found.properties.size > 0,
    relations: found.relations,
  });
}

function collect(
  term: Term,
  found: { columns: Set<ConditionColumn>; properties: Set<string>; any: boolean; relations: boolean },
): void {
  if (term.kind === 'column') found.columns.add(term.column);
  if (term.kind === 'property') found.properties.add(term.name);
  if (term.kind === 'dynamic' && term.root === 'node') found.any = true;
  if (term.kind === 'relates') found.relations = true;
  for (const operand of operandsOf(term)) collect(operand, found);
}
