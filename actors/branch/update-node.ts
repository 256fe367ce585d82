import type { JsonObject } from '#runtime/content/json-value.ts';
import { setProperty } from '#runtime/content/property-path.ts';
import { storedTranslations } from '#runtime/content/translation.ts';
import { prepareProperties, requireArchetype, stripDerived } from '#runtime/content/validate-node.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import type { EditScope } from './edit-scope.ts';
import type { NodeWritten, SetProperty, UpdateNode, Written } from './messages.ts';
import { resolveReferences } from './resolve-references.ts';

/** Replaces the properties of a node. @see messages.ts, UpdateNode */
export function updateNode(edit: EditScope, command: UpdateNode): NodeWritten {
  const { workspace } = command;
  const old = edit.requireNode(workspace, command.place, 'update');
  if (command.nodeType !== undefined && command.nodeType !== old.header.nodeType) {
    throw invalid('Cannot change node_type after creation', { field: 'node_type' });
  }
  const archetype = command.archetype === undefined ? old.header.archetype : command.archetype;
  const next = changedNode(edit, workspace, old, command.properties ?? old.properties, archetype, command);
  edit.replace(workspace, old, next);
  edit.audit(workspace, next, 'Update');
  const revision = edit.finish(command.commit, `Updated node: ${old.header.id}`) as string;
  return { node: edit.render(workspace, next), nodeId: old.header.id, revision };
}

/** Sets one property, nested by keys. @see messages.ts, SetProperty */
export function setNodeProperty(edit: EditScope, command: SetProperty): Written {
  const { workspace } = command;
  const old = edit.requireNode(workspace, command.place, 'update');
  const properties = setProperty(old.properties, command.property, command.value);
  const next = changedNode(edit, workspace, old, properties, old.header.archetype, {});
  edit.replace(workspace, old, next);
  edit.audit(workspace, next, 'UpdateProperty', { property: command.property.join('.') });
  return { revision: edit.finish(command.commit, `Updated node: ${old.header.id}`) };
}

/**
 * The state of a node with other properties, checked against its type and archetype.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function changedNode(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  given: JsonObject,
  archetypeName: string | null,
  more: { readonly translations?: JsonObject | null; readonly ownerId?: string | null },
): NodeRecord {
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
        : storedTranslations(properties, more.translations, edit.now, type, old.header.translations);
  const ownerId = more.ownerId === undefined ? old.header.ownerId : more.ownerId;
  return edit.next(
    old,
    { archetype: archetypeName, translations, ownerId },
    resolveReferences(edit, workspace, properties),
  );
}
