import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { sameDefinition } from '#runtime/tree/net-change.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import { definitionPath } from '../../pair/definition-names.ts';
import { requireSoundIn } from '../../schema/definitions.ts';
import { eachInSlices } from '../../each-in-slices.ts';
import { type ChangedDefinition, refusalOf, type SchemaState } from './merged-schemas.ts';
import { type MergeView, changedDefinitionsText } from './merge-view.ts';
import { bothSides } from './node-violations.ts';
import { shippedViolations } from './shipped-violations.ts';
import { usedTypeViolations } from './used-type-violations.ts';
import type { Violation } from './violation.ts';

/**
 * Finds definitions that resolve on their side and not in the merged schema: they may extend each other in a circle, or
 * extend a definition that the other side deleted. A definition that does not resolve on a side with the same definition
 * is not an issue of the merge. Finds built-in types that lose something and types with nodes as well, see
 * {@link shippedViolations} and {@link usedTypeViolations}. Yields where the work may rest.
 */
export function* definitionViolations(
  view: MergeView,
  note: (violation: Violation) => void,
): Generator<undefined, void> {
  const { schemas } = view;
  const resolvers = new Map<SchemaState, SchemaResolver>();
  const refused = new Set<ChangedDefinition>();
  const refusalIn = (state: SchemaState, stored: StoredDefinition<StoredKind>, kind: StoredKind) => {
    const source = schemas.source(state);
    const resolver = resolvers.get(state) ?? new SchemaResolver(source);
    resolvers.set(state, resolver);
    return refusalOf(() => requireSoundIn(source, resolver, kind, stored.definition));
  };
  yield* eachInSlices(schemas.changed.values(), (definition) => {
    const { isOpen, kind, merged } = definition;
    if (merged === undefined || isOpen) return;
    const homes = bothSides.filter((side) => sameDefinition(merged, definition[side]));
    // A merged schema that equals the schema of a side has no issue that the side does not have.
    if (homes.some((side) => schemas.differing(side).size === 0)) return;
    const refusal = refusalIn('merged', merged, kind);
    if (refusal === undefined) return;
    if (homes.some((side) => refusalIn(side, merged, kind)?.message === refusal.message)) return;
    refused.add(definition);
    noteRefused(view, definition, refusal, note);
  });
  yield* shippedViolations(view, refused, note);
  yield* usedTypeViolations(view, refused, note);
}

function noteRefused(
  view: MergeView,
  definition: ChangedDefinition,
  refusal: ServiceError,
  note: (violation: Violation) => void,
): void {
  const { kind, merged, name } = definition;
  const stored = merged as StoredDefinition<StoredKind>;
  const homes = bothSides.filter((side) => sameDefinition(stored, definition[side]));
  const causes = view.schemas
    .causes(homes.length === 0 ? bothSides : homes, null, (resolver, source) =>
      requireSoundIn(source, resolver, kind, stored.definition),
    )
    .filter((cause) => cause.kind !== kind || cause.name !== name);
  if (causes.some((cause) => cause.isOpen)) return;
  note({
    type: causes.some((cause) => cause.merged === undefined) ? 'MissingDefinition' : 'InvalidDefinition',
    message: refusal.message + changedDefinitionsText(view, homes[0] ?? 'own', causes),
    subject: { kind, name },
    path: definitionPath(definition),
    others: causes,
  });
}
