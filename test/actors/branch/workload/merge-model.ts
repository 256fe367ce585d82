import { orderKeyBetween } from '#runtime/content/order-key.ts';
import {
  childrenOf,
  MODEL_ROOT,
  type ModelContent,
  type ModelNode,
  type ModelOperation,
  type ModelOverlay,
  pathOf,
} from './content-model.ts';

/** A conflict as the interface answers it, without properties. */
export interface ModelConflict {
  readonly id: string;
  readonly path: string;
  readonly kind: string;
  readonly locale?: string;
}

/** What is wrong with the shape of the tree both sides together would make. */
export interface ModelClash {
  readonly kind: 'missing parent' | 'one place' | 'circle';
  /** The nodes it is about. */
  readonly ids: readonly string[];
}

/** What merging two contents comes to. */
export interface ModelMerge {
  /** Aspects both sides changed differently, and parents that one side deleted and the other put nodes below. */
  readonly conflicts: readonly ModelConflict[];
  /** What no single conflict is to be blamed for, with the target's state of all that is in conflict. */
  readonly clashes: readonly ModelClash[];
  /** Nodes that such a clash may be about, depending on how the conflicts are settled. */
  readonly entangled: ReadonlySet<string>;
  readonly merged: ModelContent;
  readonly sides: MergeSides;
  /** What the merge commit says it changed. */
  readonly changes: ReadonlyMap<string, ModelOperation>;
}

/** The three contents of a merge. */
export interface MergeSides {
  readonly base: ModelContent;
  readonly target: ModelContent;
  readonly source: ModelContent;
  /** Whether the base is folded of several merge bases. */
  readonly isCrossed: boolean;
}

type Nodes = ModelContent['nodes'];

/** A content without anything. */
export const emptyContent: ModelContent = { nodes: new Map(), types: new Map() };

/** What a node is, all but its translations and its place among its siblings, as text; undefined without it. */
function nodeText(nodes: Nodes, id: string): string | undefined {
  const node = nodes.get(id);
  if (node === undefined) return undefined;
  const { code, isPublished, likes, nodeType, parentId, title } = node;
  const liked = Object.entries(likes).sort();
  return JSON.stringify([pathOf(nodes, id), parentId, nodeType, title, code, isPublished, liked]);
}

/** What a locale makes of a node, as text. */
function overlayText(nodes: Nodes, id: string, locale: string): string {
  const overlay = nodes.get(id)?.locales[locale];
  return overlay === undefined ? '' : JSON.stringify([overlay.isHidden, overlay.value, overlay.source]);
}

/** Locales a node has an overlay for in any of some contents. */
function localesOf(id: string, ...contents: readonly ModelContent[]): readonly string[] {
  return [...new Set(contents.flatMap(({ nodes }) => Object.keys(nodes.get(id)?.locales ?? {})))].sort();
}

/** What became of every node between two contents; a new place alone is `reordered`. */
export function netChanges(before: ModelContent, after: ModelContent): ReadonlyMap<string, ModelOperation> {
  const found = new Map<string, ModelOperation>();
  for (const id of idsOf(before, after)) {
    const [old, now] = [before.nodes.get(id), after.nodes.get(id)];
    if (old === undefined) found.set(id, 'added');
    else if (now === undefined) found.set(id, 'deleted');
    else if (isChanged(id, before, after)) found.set(id, 'modified');
    else if (old.orderKey !== now.orderKey) found.set(id, 'reordered');
  }
  return found;
}

/** What became of every type between two contents. */
export function typeChanges(
  before: ModelContent,
  after: ModelContent,
): ReadonlyMap<string, 'added' | 'modified' | 'deleted'> {
  const found = new Map<string, 'added' | 'modified' | 'deleted'>();
  for (const name of namesOf(before, after)) {
    if (!before.types.has(name)) found.set(name, 'added');
    else if (!after.types.has(name)) found.set(name, 'deleted');
    else if (typeText(before, name) !== typeText(after, name)) found.set(name, 'modified');
  }
  return found;
}

/** The content two histories with several merge bases stand on: aspect by aspect what merging them makes. */
export function folded(newest: ModelContent, base: ModelContent, met: ModelContent): ModelContent {
  const nodes = new Map<string, ModelNode>();
  for (const id of idsOf(newest, base)) {
    const kept = isNodeChanged(id, met, newest) ? newest.nodes.get(id) : base.nodes.get(id);
    if (kept === undefined) continue;
    const locales = Object.fromEntries(
      localesOf(id, newest, base).flatMap((locale): [string, ModelOverlay][] => {
        const isOld = overlayText(met.nodes, id, locale) === overlayText(newest.nodes, id, locale);
        const overlay = (isOld ? base : newest).nodes.get(id)?.locales[locale];
        return overlay === undefined ? [] : [[locale, overlay]];
      }),
    );
    const isMoved = !isSamePlace(newest.nodes.get(id), met.nodes.get(id));
    const placed = (isMoved ? newest : base).nodes.get(id);
    const orderKey = placed?.parentId === kept.parentId ? placed.orderKey : kept.orderKey;
    nodes.set(id, { ...kept, locales, orderKey });
  }
  const types = new Map(newest.types);
  for (const name of namesOf(newest, base)) {
    if (typeText(newest, name) === typeText(met, name)) setType(types, name, base);
  }
  return { nodes, types };
}

/** Merges what the source made of the base into what the target made of it. */
export function merged(sides: MergeSides): ModelMerge {
  const { base, source, target } = sides;
  const ids = idsOf(base, target, source);
  const conflicts: ModelConflict[] = [
    ...ids.flatMap((id) => aspectConflicts(id, sides)),
    ...parentConflicts(base, target, source, 'ModifiedBySourceDeletedByTarget'),
    ...parentConflicts(base, source, target, 'DeletedBySourceModifiedByTarget'),
    ...typeConflicts(sides),
  ];
  const nodes = mergedNodes(ids, sides, 'target');
  const clashes = clashesIn(nodes);
  const entangled = new Set([...clashes, ...possibleClashes(ids, sides)].flatMap((clash) => clash.ids));
  placeSourceNodes(nodes, sides);
  const content = { nodes, types: mergedTypes(sides) };
  return {
    conflicts: [...new Map(conflicts.map((one) => [`${one.id} ${one.locale}`, one])).values()],
    clashes,
    entangled,
    merged: content,
    sides,
    changes: changesOf(sides, content),
  };
}

/** What comes out when every conflict is settled for the target: its nodes keep their places, too. */
export function settled(outcome: ModelMerge): {
  readonly content: ModelContent;
  readonly changes: ReadonlyMap<string, ModelOperation>;
} {
  const nodes = new Map(outcome.merged.nodes);
  for (const { id, locale } of outcome.conflicts) {
    const [node, ours] = [nodes.get(id), outcome.sides.target.nodes.get(id)];
    if (locale === undefined && node !== undefined && ours !== undefined)
      nodes.set(id, { ...node, orderKey: ours.orderKey });
  }
  const content = { ...outcome.merged, nodes };
  const changes = new Map(changesOf(outcome.sides, content));
  const { base, source, target } = outcome.sides;
  // What the source moved along with a node that stays was to be written, too.
  for (const id of source.nodes.keys()) {
    const isBrought = isNodeChanged(id, base, source) && !isNodeChanged(id, base, target);
    if (isBrought && target.nodes.has(id)) changes.set(id, 'modified');
  }
  for (const { id, locale } of outcome.conflicts) {
    // A place that the source gave a node comes, whatever is decided about a locale.
    if (locale !== undefined && netChanges(target, content).get(id) === 'reordered') continue;
    changes.set(id, nodes.has(id) ? 'modified' : 'deleted');
  }
  return { content, changes };
}

/** What a merge commit says it changed: over several bases also what the target keeps and the source has otherwise. */
function changesOf(
  { base, isCrossed, source, target }: MergeSides,
  content: ModelContent,
): ReadonlyMap<string, ModelOperation> {
  const changes = new Map<string, ModelOperation>();
  const own = netChanges(base, target);
  for (const [id, operation] of isCrossed ? netChanges(source, content) : []) {
    if (own.has(id)) changes.set(id, operation === 'added' ? 'modified' : operation);
  }
  return new Map([...changes, ...netChanges(target, content)]);
}

function idsOf(...contents: readonly ModelContent[]): readonly string[] {
  return [...new Set(contents.flatMap(({ nodes }) => [...nodes.keys()]))];
}

function namesOf(...contents: readonly ModelContent[]): ReadonlySet<string> {
  return new Set(contents.flatMap(({ types }) => [...types.keys()]));
}

/** Whether a node differs between two contents, but for its translations and its place among its siblings. */
export function isNodeChanged(id: string, before: ModelContent, after: ModelContent): boolean {
  return nodeText(before.nodes, id) !== nodeText(after.nodes, id);
}

function changedLocales(id: string, before: ModelContent, after: ModelContent): readonly string[] {
  return localesOf(id, before, after).filter(
    (locale) => overlayText(before.nodes, id, locale) !== overlayText(after.nodes, id, locale),
  );
}

/** As {@link isNodeChanged}, with its translations. */
export function isChanged(id: string, before: ModelContent, after: ModelContent): boolean {
  return isNodeChanged(id, before, after) || changedLocales(id, before, after).length > 0;
}

function isSamePlace(a: ModelNode | undefined, b: ModelNode | undefined): boolean {
  return a?.parentId === b?.parentId && a?.orderKey === b?.orderKey;
}

function aspectConflicts(id: string, { base, source, target }: MergeSides): readonly ModelConflict[] {
  const isThere = { base: base.nodes.has(id), source: source.nodes.has(id), target: target.nodes.has(id) };
  const path = pathOf(isThere.target ? target.nodes : source.nodes, id) as string;
  if (!isThere.target && !isThere.source) return [];
  if (isThere.base && !isThere.target) {
    return isChanged(id, base, source) ? [{ id, path, kind: 'ModifiedBySourceDeletedByTarget' }] : [];
  }
  if (isThere.base && !isThere.source) {
    return isChanged(id, base, target) ? [{ id, path, kind: 'DeletedBySourceModifiedByTarget' }] : [];
  }
  if (!isThere.target || !isThere.source) return [];
  const found: ModelConflict[] = [];
  const areBothChanged = isNodeChanged(id, base, target) && isNodeChanged(id, base, source);
  if (areBothChanged && isNodeChanged(id, target, source)) {
    found.push({ id, path, kind: isThere.base ? 'BothModified' : 'BothAdded' });
  }
  for (const locale of changedLocales(id, target, source)) {
    const text = ({ nodes }: ModelContent): string => overlayText(nodes, id, locale);
    if (text(base) === text(target) || text(base) === text(source)) continue;
    found.push({ id, path, kind: localeKind(id, locale, { base, source, target }), locale });
  }
  return found;
}

/** Where only one side has something to see in the locale, the other one took it away. */
function localeKind(
  id: string,
  locale: string,
  { base, source, target }: Omit<MergeSides, 'isCrossed'>,
): string {
  const isShown = ({ nodes }: ModelContent): boolean => nodes.get(id)?.locales[locale]?.isHidden === false;
  if (isShown(target) && !isShown(source)) return 'DeletedBySourceModifiedByTarget';
  if (!isShown(target) && isShown(source)) return 'ModifiedBySourceDeletedByTarget';
  return isShown(target) && !isShown(base) ? 'BothAdded' : 'BothModified';
}

/** Nodes that one side deleted and the other one put something below. */
function parentConflicts(
  base: ModelContent,
  deleting: ModelContent,
  placing: ModelContent,
  kind: string,
): readonly ModelConflict[] {
  return [...placing.nodes.values()].flatMap(({ id, parentId }) => {
    if (base.nodes.get(id)?.parentId === parentId) return [];
    if (!base.nodes.has(parentId) || deleting.nodes.has(parentId)) return [];
    // The placing side has the parent, and the conflict is told by its path there.
    return [{ id: parentId, path: pathOf(placing.nodes, parentId) as string, kind }];
  });
}

/** A type as text. */
export function typeText({ types }: ModelContent, name: string): string {
  return JSON.stringify(types.get(name) ?? null);
}

function setType(types: Map<string, unknown>, name: string, from: ModelContent): void {
  const type = from.types.get(name);
  if (type === undefined) types.delete(name);
  else types.set(name, type);
}

function typeConflicts({ base, source, target }: MergeSides): readonly ModelConflict[] {
  return [...namesOf(base, source, target)]
    .filter((name) => new Set([base, source, target].map((content) => typeText(content, name))).size === 3)
    .map((name) => ({ id: `node_type:${name}`, path: `/node_type/${name}`, kind: 'BothModified' }));
}

function mergedTypes({ base, source, target }: MergeSides): ModelContent['types'] {
  const types = new Map(target.types);
  for (const name of namesOf(base, source)) {
    if (typeText(base, name) === typeText(target, name)) setType(types, name, source);
  }
  return types;
}

type Winner = 'target' | 'source';

function mergedNodes(ids: readonly string[], sides: MergeSides, winner: Winner): Map<string, ModelNode> {
  const nodes = new Map<string, ModelNode>();
  for (const id of ids) {
    const node = mergedNode(id, sides, winner);
    if (node !== undefined) nodes.set(id, node);
  }
  return nodes;
}

/** A node aspect by aspect, that of the winner where both changed it. Its place is settled later. */
function mergedNode(id: string, { base, source, target }: MergeSides, winner: Winner): ModelNode | undefined {
  const [old, ours, theirs] = [base.nodes.get(id), target.nodes.get(id), source.nodes.get(id)];
  if (old === undefined && ours === undefined) return theirs;
  if (old !== undefined && ours === undefined) return undefined;
  if (old !== undefined && theirs === undefined) return isChanged(id, base, target) ? ours : undefined;
  if (ours === undefined || theirs === undefined) return ours;
  const isOurs = isNodeChanged(id, base, target) && (winner === 'target' || !isNodeChanged(id, base, source));
  const locales = Object.fromEntries(
    localesOf(id, target, source).flatMap((locale): [string, ModelOverlay][] => {
      const isKept = overlayText(base.nodes, id, locale) !== overlayText(target.nodes, id, locale);
      const overlay = (isKept ? ours : theirs).locales[locale];
      return overlay === undefined ? [] : [[locale, overlay]];
    }),
  );
  return { ...(isOurs ? ours : theirs), orderKey: ours.orderKey, locales };
}

/** Clashes of other ways to settle the conflicts: the source wins, or what one side deleted is kept. */
function possibleClashes(ids: readonly string[], sides: MergeSides): readonly ModelClash[] {
  return (['target', 'source'] as const).flatMap((winner) => {
    const nodes = mergedNodes(ids, sides, winner);
    const found = clashesIn(nodes);
    for (const id of ids) {
      const kept = sides.target.nodes.get(id) ?? sides.source.nodes.get(id);
      if (kept !== undefined && !nodes.has(id)) nodes.set(id, kept);
    }
    return [...found, ...clashesIn(nodes)];
  });
}

/** Gives the nodes that the source put somewhere their place there, or one right behind it. */
function placeSourceNodes(nodes: Map<string, ModelNode>, { base, source, target }: MergeSides): void {
  const placed = [...nodes.values()].filter(({ id, parentId }) => {
    const [old, ours, theirs] = [base.nodes.get(id), target.nodes.get(id), source.nodes.get(id)];
    if (theirs === undefined) return false;
    if (ours?.parentId !== parentId) return true;
    const isReorderedThere = old?.parentId === theirs.parentId && old.orderKey !== theirs.orderKey;
    return isReorderedThere && isSamePlace(old, ours) && theirs.parentId === parentId;
  });
  for (const { id } of placed) nodes.delete(id);
  const keyThere = ({ id }: ModelNode): string => (source.nodes.get(id) as ModelNode).orderKey;
  const waiting = placed.map((node) => ({ ...node, orderKey: keyThere(node) }));
  waiting.sort((a, b) => (a.orderKey < b.orderKey ? -1 : 1));
  for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
    nodes.set(node.id, { ...node, orderKey: freeKey(nodes, node, waiting) });
  }
}

function freeKey(nodes: Nodes, { orderKey, parentId }: ModelNode, waiting: readonly ModelNode[]): string {
  const keys = childrenOf(nodes, parentId).map((child) => child.orderKey);
  if (!keys.includes(orderKey)) return orderKey;
  // Not behind those of the source that follow it there.
  const later = waiting.filter((node) => node.parentId === parentId).map((node) => node.orderKey);
  const next = [...keys, ...later].filter((key) => key > orderKey).sort()[0];
  return orderKeyBetween(orderKey, next ?? null);
}

function clashesIn(nodes: Nodes): readonly ModelClash[] {
  const clashes: ModelClash[] = [];
  for (const { id, parentId } of nodes.values()) {
    if (parentId !== MODEL_ROOT && !nodes.has(parentId)) {
      clashes.push({ kind: 'missing parent', ids: [id, parentId] });
    }
  }
  for (const parentId of new Set([...nodes.values()].map((node) => node.parentId))) {
    const byName = new Map<string, string[]>();
    for (const { id, name } of childrenOf(nodes, parentId)) {
      byName.set(name, [...(byName.get(name) ?? []), id]);
    }
    for (const ids of byName.values()) if (ids.length > 1) clashes.push({ kind: 'one place', ids });
  }
  for (const id of nodes.keys()) {
    const circle = circleThrough(nodes, id);
    if (circle !== undefined) clashes.push({ kind: 'circle', ids: circle });
  }
  return clashes;
}

/** The nodes of a circle that a node is part of. */
function circleThrough(nodes: Nodes, id: string): readonly string[] | undefined {
  const way: string[] = [];
  for (let next: string | undefined = id; next !== undefined && next !== MODEL_ROOT; ) {
    if (way.includes(next)) return next === id ? way : undefined;
    way.push(next);
    next = nodes.get(next)?.parentId;
  }
  return undefined;
}
