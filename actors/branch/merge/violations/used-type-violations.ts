import type { ServiceError } from '#runtime/errors/service-error.ts';
import { definitionPath } from '../../pair/definition-names.ts';
import { type ChangedDefinition, refusalOf, type SchemaState } from './merged-schemas.ts';
import { bothChangesText, type MergeView } from './merge-view.ts';
import { bothSides } from './node-violations.ts';
import type { Violation } from './violation.ts';

/**
 * Finds types with nodes that neither side changed and that no longer resolve: they inherit over too many levels once
 * both sides have added some. Such a type cannot have a resolution, so the definitions it is made of are the subject.
 *
 * @param refused definitions that do not resolve; nothing is concluded from what is made of them
 * @returns yields where the work may pause
 */
export function* usedTypeViolations(
  view: MergeView,
  refused: ReadonlySet<ChangedDefinition>,
  note: (violation: Violation) => void,
): Generator<undefined, void> {
  const { schemas, usedTypes } = view;
  // A merged schema that equals the schema of a side has no issue that the side does not have.
  if (bothSides.some((side) => schemas.differing(side).size === 0)) return;
  const noted = new Set<string>();
  for (const { nodeType, workspace } of usedTypes()) {
    yield;
    if (noted.has(nodeType) || !bothSides.every((side) => schemas.affects(side, workspace, nodeType, null)))
      continue;
    const refusalIn = (state: SchemaState): ServiceError | undefined =>
      refusalOf(() => void schemas.in(workspace, state)?.nodeType(nodeType));
    const refusal = refusalIn('merged');
    if (refusal === undefined || bothSides.some((side) => refusalIn(side) !== undefined)) continue;
    const causes = schemas.causes(bothSides, workspace, (schema) => void schema.nodeType(nodeType));
    if (causes.some((cause) => cause.isOpen || refused.has(cause))) continue;
    noted.add(nodeType);
    const [subject, ...others] = causes as [ChangedDefinition];
    note({
      type: 'InvalidDefinition',
      message: refusal.message + bothChangesText(view, 'own', causes),
      subject: { kind: subject.kind, name: subject.name },
      path: definitionPath(subject),
      others,
    });
  }
}
