import type { JsonObject } from '#runtime/content/json-value.ts';
import { setProperty } from '#runtime/content/property-path.ts';
import { storedTranslations } from '#runtime/content/translation.ts';
import { prepareProperties, requireArchetype, stripDerived } from '#runtime/content/validate-node.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { EditScope } from './edit-scope.ts';
import type { NodeWritten, SetProperty, UpdateNode, Written } from './messages.ts';
import { requireShortOwner } from './owner-bound.ts';
import { resolveReferences } from './resolve-references.ts';

/** Replaces the properties of a node. @see messages.ts, UpdateNode */
export function* updateNode(edit: EditScope, command: UpdateNode): Generator<undefined, NodeWritten> {
  const { workspace } = command;
  const old = edit.requireNode(workspace, command.place, 'update');
  if (command.nodeType !== undefined && command.nodeType !== old.header.nodeType) {
    throw invalid('Cannot change node_type after creation', { field: 'node_type' });
  }
  const archetype = command.archetype === undefined ? old.header.archetype : command.archetype;
  const given = command.properties ?? (yield* old.decode());
  const next = yield* changedNode(edit, workspace, old, given, archetype, command);
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'Update');
  const revision = edit.finish(command.commit, `Updated node: ${old.header.id}`) as string;
  return { node: yield* edit.renderInSteps(workspace, next), nodeId: old.header.id, revision };
}

/** Sets one property, nested by keys. @see messages.ts, SetProperty */
export function* setNodeProperty(edit: EditScope, command: SetProperty): Generator<undefined, Written> {
  const { workspace } = command;
  const old = edit.requireNode(workspace, command.place, 'update');
  const properties = setProperty(yield* old.decode(), command.property, command.value);
  const next = yield* changedNode(edit, workspace, old, properties, old.header.archetype, {});
  edit.replace(workspace, old, next);
  edit.audit(workspace, next, 'UpdateProperty', { property: command.property.join('.') });
  return { revision: edit.finish(command.commit, `Updated node: ${old.header.id}`) };
}

/**
 * The state of a node with other properties, checked against its type and archetype. It rests only when they are large.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function* changedNode(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  given: JsonObject,
  archetypeName: string | null,
  more: { readonly translations?: JsonObject | null; readonly ownerId?: string | null },
): Generator<undefined, NodeRecord> {
  edit.requireMutable(workspace, old);
  const type = edit.requireType(workspace, old.header.nodeType);
  const schema = edit.schema(workspace);
  const archetype = archetypeName === null ? null : requireArchetype(archetypeName, type, schema);
  const properties = prepareProperties(
    type,
    archetype,
    stripDerived(given),
    schema,
    'update',
    edit.turn.budget,
  );
  const translations =
    more.translations === undefined
      ? old.header.translations
      : more.translations === null
        ? null
        : yield* storedTranslations(properties, more.translations, edit.now, type, old.header.translations);
  const { ownerId: present } = old.header;
  const ownerId = more.ownerId === undefined ? present : requireShortOwner(more.ownerId, present);
  return yield* edit.nextInSteps(
    old,
    { archetype: archetypeName, translations, ownerId },
    resolveReferences(edit, workspace, properties),
  );
}
