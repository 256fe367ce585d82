import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { definitionPath } from '../../pair/definition-names.ts';
import { keptPartsText, missingIn } from '../../schema/shipped-types.ts';
import { eachInSlices } from '../../each-in-slices.ts';
import type { ChangedDefinition } from './merged-schemas.ts';
import { bothChangesText, type MergeView } from './merge-view.ts';
import { bothSides } from './node-violations.ts';
import type { Violation } from './violation.ts';

/**
 * Finds shipped types that would lose something by what both sides changed together. Every shipped type is judged, because
 * neither side needs to have written it: one side may give its mixin another mixin, and the other one make a property of
 * that required. What a shipped type lacks on a side already is no issue of the merge.
 *
 * @param refused definitions that do not resolve; nothing is concluded from what is made of them
 * @returns yields where the work may rest
 * @see docs/decisions/0053-protected-built-ins.md
 */
export function* shippedViolations(
  view: MergeView,
  refused: ReadonlySet<ChangedDefinition>,
  note: (violation: Violation) => void,
): Generator<undefined, void> {
  const { schemas } = view;
  // A merged schema that equals the schema of a side has no issue that the side does not have.
  if (bothSides.some((side) => schemas.differing(side).size === 0)) return;
  const merged = new SchemaResolver(schemas.source('merged'));
  const sides = bothSides.map((side) => new SchemaResolver(schemas.source(side)));
  yield* eachInSlices(builtInNodeTypes, ({ definition: { name } }) => {
    const missing = missingIn(merged, name);
    const known = missing.length === 0 ? [] : sides.flatMap((side) => missingIn(side, name));
    const lost = missing.filter((part) => !known.includes(part));
    if (lost.length === 0) return;
    const causes = schemas.causes(bothSides, null, (schema) => void schema.nodeType(name));
    if (causes.some((cause) => cause.isOpen || refused.has(cause))) return;
    // What resolutions alone take away is refused when it is written.
    if (causes.every(({ decision }) => decision?.choice === 'manual')) return;
    noteLost(view, name, lost, causes, note);
  });
}

/** A type that neither side wrote cannot have a resolution: the definitions it is made of are the subject then. */
function noteLost(
  view: MergeView,
  name: string,
  lost: readonly string[],
  causes: readonly ChangedDefinition[],
  note: (violation: Violation) => void,
): void {
  const itself = causes.find((cause) => cause.kind === 'node_type' && cause.name === name);
  const subject = itself ?? (causes[0] as ChangedDefinition);
  const others = causes.filter((cause) => cause !== subject);
  note({
    type: causes.some((cause) => cause.merged === undefined) ? 'MissingDefinition' : 'InvalidDefinition',
    message: keptPartsText(name, lost) + bothChangesText(view, 'own', itself === undefined ? causes : others),
    subject: { kind: subject.kind, name: subject.name },
    path: definitionPath(subject),
    others,
  });
}
