import { overlayOf, withOverlay } from '#runtime/content/translations/translation.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { sameOwnContent } from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';
import { type MergeSides, nodeKeyOf } from './merge-sides.ts';
import { localeKeyOf, type MergeDecisions } from './merge-decisions.ts';
import type { NodeDecision } from './merged-tree.ts';
import type { NodeAddress } from '../pair-messages.ts';
import type { PlannedWrite, PlannedWrites } from './planned-writes.ts';

/** The translations of a node that result from a merge. */
export interface MergedTranslations {
  readonly translations: JsonObject | null;
  /** Locales that differ from the target's. */
  readonly changed: readonly string[];
  /** Values of manual resolutions, which are checked when the node is written. */
  readonly given: ReadonlyMap<string, JsonObject>;
  /** Whether there is a decision about a locale. */
  readonly isDecided: boolean;
}

/**
 * The translations of a node that both sides have: the source's locales, except those that the target changed, unless a
 * decision says otherwise.
 */
export function mergedTranslations(
  node: NodeAddress,
  { own, other }: MergeSides,
  present: NodeRecord,
  decisions: MergeDecisions | undefined,
): MergedTranslations {
  const key = nodeKeyOf(node.workspace, node.id);
  const theirs = other.get(key);
  const ours = own.get(key);
  let { translations } = present.header;
  const changed: string[] = [];
  const given = new Map<string, JsonObject>();
  let isDecided = false;
  for (const locale of theirs?.after === undefined ? [] : theirs.locales) {
    const decided = decisions?.locales.get(localeKeyOf(node, locale));
    isDecided ||= decided !== undefined;
    if (decided?.choice === 'ours') continue;
    if (decided === undefined && ours?.locales.includes(locale) === true) continue;
    changed.push(locale);
    if (decided?.choice === 'manual') {
      if (decided.values === null) translations = withOverlay(translations, locale, null);
      else given.set(locale, decided.values);
      continue;
    }
    const overlay = overlayOf(theirs?.after?.header.translations ?? null, locale) ?? null;
    translations = withOverlay(translations, locale, overlay);
  }
  return { translations, changed, given, isDecided };
}

/**
 * Plans the write for a decision about a node. It is written even if nothing changes, and a source node that is not
 * taken is recorded as deleted. The merge commit then records where it differs from the source, and a merge in the
 * other direction transfers the decision.
 */
export function* planDecided(
  edit: EditScope,
  sides: MergeSides,
  decisions: MergeDecisions,
  writes: PlannedWrites,
  decision: NodeDecision,
): Generator<undefined, void> {
  const { choice, id, workspace } = decision;
  const present = yield* edit.head.byIdInSteps(workspace, id);
  const source = yield* decisions.tree.sourceState(decision);
  if (choice === 'gone' || (choice === 'theirs' ? source : present) === undefined) {
    const named = present ?? source;
    if (named !== undefined) writes.set(goneWrite(workspace, present, named));
    return;
  }
  const given = decision.properties === undefined ? {} : { properties: decision.properties };
  if (present === undefined) {
    const content = source as NodeRecord;
    const { translations } = content.header;
    const added = { operation: 'added', translations, changedLocale: null, isPlaced: true, given } as const;
    writes.set({ workspace, id, present, content, ...added });
    return;
  }
  const merged = mergedTranslations(decision, sides, present, decisions);
  const content = choice === 'theirs' ? (source as NodeRecord) : present;
  const isPlaced =
    content.header.parentId !== present.header.parentId ||
    content.header.orderKey !== present.header.orderKey;
  writes.set({
    workspace,
    id,
    present,
    content,
    translations: merged.translations,
    operation: 'modified',
    changedLocale: null,
    isPlaced,
    isFollower: choice === 'ours' && decision.properties === undefined && merged.changed.length === 0,
    given: { ...given, ...(merged.given.size === 0 ? {} : { translations: merged.given }) },
  });
}

/** The write for a node that is removed, or is absent and recorded as deleted. @param named the state that names it */
export function goneWrite(
  workspace: string,
  present: NodeRecord | undefined,
  named: NodeRecord,
): PlannedWrite {
  const { id } = named.header;
  const gone = { content: undefined, translations: null, changedLocale: null, isPlaced: false } as const;
  return { workspace, id, present, operation: 'deleted', named, ...gone };
}

/** Lets a node keep its version, time and author if it would have moved with another node that now stays in place. */
export function* keepWhatStays(writes: PlannedWrites, write: PlannedWrite): Generator<undefined, void> {
  const { content, id, present, workspace } = write;
  if (content === undefined || present === undefined) return;
  if (isAsItWas(write, yield* writes.pathOf(workspace, id))) {
    writes.set({ ...write, content: present, isFollower: true });
  }
}

/** Whether a write has no effect except a path and position that the node already has. */
function isAsItWas({ content, given, isPlaced, present, translations }: PlannedWrite, path: string): boolean {
  if (content === undefined || present === undefined || content === present) return false;
  if (isPlaced || given?.properties !== undefined || given?.translations !== undefined) return false;
  if (translations !== present.header.translations || path !== present.header.path) return false;
  return sameOwnContent(content, present);
}
