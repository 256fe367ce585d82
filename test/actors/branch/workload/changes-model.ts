import { expect } from 'vitest';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { parentName } from '#runtime/content/path.ts';
import { applyChanges } from '#test/support/apply-changes.ts';
import type { DiffChange, DiffEntry, Difference } from '#test/support/branch-family.ts';
import { type ModelContent, type ModelNode, pathOf } from './content-model.ts';
import { propertiesOf } from './workload-wire.ts';

/**
 * Compares the changes of a difference with the model: each entry makes of the node that was there the one that is there
 * now, and without its changes it is the entry of a difference that has none.
 *
 * @param plain the same difference without changes
 */
export function expectChanges(
  detailed: Difference,
  plain: Difference,
  before: ModelContent,
  after: ModelContent,
): void {
  expect(detailed.truncated).toBe(false);
  expect(withoutChanges(detailed)).toEqual(plain);
  for (const entry of [...detailed.added, ...detailed.modified, ...detailed.deleted]) {
    const [old, now] = [asRead(before, entry), asRead(after, entry)];
    // Of several bases there may be no tree to be made.
    if (old === undefined || now === undefined) continue;
    expect(entry.changes).not.toEqual([]);
    expect(applied(old, entry.changes ?? []), JSON.stringify(entry)).toEqual(now);
  }
  for (const { changes } of detailed.definitions) expect(changes).not.toEqual([]);
}

/** A difference as it is without its changes. */
export function withoutChanges({ truncated: _, ...found }: Difference): Difference {
  const bare = <Entry extends object>(entries: readonly Entry[]): Entry[] =>
    entries.map((entry) => {
      const {
        changes: _,
        truncated: __,
        ...rest
      } = entry as Entry & { changes?: unknown; truncated?: unknown };
      return rest as Entry;
    });
  return {
    ...found,
    added: bare(found.added),
    modified: bare(found.modified),
    deleted: bare(found.deleted),
    definitions: bare(found.definitions),
  };
}

/** A node as its changes see it: fields that are null are left out, relations are by their target. */
function asRead({ nodes }: ModelContent, { node_id: id }: DiffEntry): JsonObject | undefined {
  const node = nodes.get(id);
  if (node === undefined) return { properties: {}, translations: {}, relations: {} };
  const path = pathOf(nodes, id);
  if (path === undefined) return undefined;
  return {
    name: node.name,
    path,
    parent: parentName(path),
    node_type: node.nodeType,
    order_key: node.orderKey,
    ...(node.isPublished ? { isPublished: true } : {}),
    properties: propertiesOf(node),
    translations: translationsOf(node),
    relations: { ...node.likes },
  };
}

function translationsOf({ locales }: ModelNode): JsonObject {
  const shown = Object.entries(locales).map(([locale, { isHidden, value }]): [string, JsonValue] => [
    locale,
    isHidden ? { type: 'hidden' } : { title: value },
  ]);
  return Object.fromEntries(shown);
}

function applied(node: JsonObject, changes: readonly DiffChange[]): JsonValue {
  const prepared = structuredClone(node) as Record<string, JsonValue>;
  const translations = prepared.translations as Record<string, JsonValue>;
  for (const { path } of changes) {
    const locale = /^\/translations\/(\w+)\//.exec(path)?.[1];
    if (locale !== undefined) translations[locale] ??= {};
  }
  const result = applyChanges(prepared, changes.flatMap(inTheModel)) as Record<string, JsonValue>;
  const shown = Object.entries(result.translations as JsonObject);
  result.translations = Object.fromEntries(
    shown.filter(([, values]) => Object.keys(values as object).length > 0),
  );
  return result;
}

/** A change in the terms of {@link asRead}. */
function inTheModel(change: DiffChange): readonly DiffChange[] {
  const { after, before, path } = change;
  // The same value of another original, or another parent of the same name.
  if (before !== undefined && before === after) return [];
  if (path === '/published_by') return [];
  if (path === '/published_at') {
    const isPublished = (time: JsonValue | undefined) => (time ?? null) !== null;
    expect(isPublished(before)).toBe(!isPublished(after));
    return [{ path: '/isPublished', ...(isPublished(after) ? { after: true } : { before: true }) }];
  }
  if (path !== '/relations') return [change];
  const target = String(((before ?? after) as JsonObject).target);
  return [{ path: `/relations/${target}`, ...weight('before', before), ...weight('after', after) }];
}

function weight(side: 'before' | 'after', relation: JsonValue | undefined): Partial<DiffChange> {
  return relation === undefined ? {} : { [side]: (relation as JsonObject).weight };
}
