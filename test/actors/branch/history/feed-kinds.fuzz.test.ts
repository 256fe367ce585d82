import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { compareRevisions, formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { readBranchHead, readRevision } from '#runtime/tree/revision-store.ts';
import { TENANT } from '#test/support/engine.ts';
import { FedBranch } from '#test/support/fed-branch.ts';
import { feedAfter, nodesAt, partsOf } from '#test/support/feed-reader.ts';
import { plainChange } from '#test/support/plain-changes.ts';
import { CONTENT } from '#test/support/test-branch.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const MAIN = actorId(TENANT, 'site~1', 'main~1', 'branch');

/** Workloads of a whole run. */
const RUNS = 40;

/** All of them also where other properties have a part: of fewer, none would be known to have met everything. */
const runsWanted = process.env.WORKLOADS === 'part' ? RUNS : workloadCount(RUNS);

const names = ['a', 'b', 'c', 'd'] as const;
const locales = ['de', 'fr'] as const;

/** What happens to a branch; numbers pick among what is there. */
interface Step {
  readonly do: keyof typeof weights;
  readonly onFork: boolean;
  readonly node: number;
  readonly other: number;
  readonly word: number;
  readonly flag: boolean;
}

const weights = {
  create: 8,
  update: 5,
  set: 5,
  unset: 3,
  patch: 3,
  delete: 3,
  rename: 5,
  move: 6,
  copy: 4,
  reorder: 5,
  publish: 6,
  restore: 6,
  relate: 4,
  unrelate: 2,
  translate: 4,
  locale: 2,
  several: 5,
  reset: 4,
  revert: 4,
  merge: 5,
  forward: 3,
} as const;

const steps = fc.array(
  fc.record<Step>({
    do: fc.oneof(
      ...Object.entries(weights).map(([name, weight]) => ({
        weight,
        arbitrary: fc.constant(name as Step['do']),
      })),
    ),
    onFork: fc.boolean(),
    node: fc.nat({ max: 20 }),
    other: fc.nat({ max: 20 }),
    word: fc.nat({ max: 3 }),
    flag: fc.boolean(),
  }),
  { minLength: 12, maxLength: 45, size: 'max' },
);

/** The command of a step; undefined where there is nothing for it. */
function commandOf(step: Step, other: ActorId, reader: TableReader): object | undefined {
  const head = formatRevision(readBranchHead(reader).head);
  const records = [...nodesAt(reader, head, [CONTENT]).values()];
  const nodes = records.map(({ header }) => header);
  const at = <T>(items: readonly T[], index: number): T => items[index % items.length] as T;
  const name = at(names, step.word);
  const there = nodes.length === 0 ? undefined : at(nodes, step.node);
  const parentPath = step.flag || there === undefined ? '/' : there.path;
  const write = { workspace: CONTENT };
  const node = { name, nodeType: 'test:Article', properties: { title: name } };
  const source = { source: other, sourceName: other === MAIN ? 'main' : 'fork', dryRun: false };
  if (step.do === 'create') return { type: 'CreateNode', ...write, parentPath, node, deep: false };
  if (step.do === 'merge') return { type: 'MergeBranch', ...source, strategy: 'ThreeWay' };
  if (step.do === 'forward') return { type: 'MergeBranch', ...source, strategy: 'FastForward' };
  if (step.do === 'reset' || step.do === 'revert') {
    const revisions = feedAfter(reader).map(({ revision }) => revision);
    const revision = at(revisions, step.node);
    if (step.do === 'reset') return { type: 'MoveHead', revision };
    return { type: 'RevertRevisions', which: { revisions: [revision] }, dryRun: false };
  }
  if (there === undefined) return undefined;
  const place = { path: there.path };
  const on = { ...write, place };
  const target = at(nodes, step.other);
  const inside = (parent: string): string => `${parent === '/' ? '' : parent}/${name}`;
  switch (step.do) {
    case 'update':
      return { type: 'UpdateNode', ...on, properties: { title: name, [name]: step.other % 3 } };
    case 'set':
      return { type: 'SetProperty', ...on, property: [name, 'deep'], value: [step.other, { x: name }] };
    case 'unset': {
      const properties = records.find(({ id }) => id === there.id)?.properties ?? {};
      const removable = Object.keys(properties).filter((key) => key !== 'title');
      return { type: 'RemoveProperty', ...on, property: [at(removable, step.other) ?? name] };
    }
    case 'patch':
      return {
        type: 'PatchNode',
        ...on,
        properties: { [name]: step.flag ? null : step.other },
        ...(step.other % 2 === 0 ? {} : { ownerId: name }),
      };
    case 'delete':
      return { type: 'DeleteNode', ...on };
    case 'rename':
      return { type: 'RenameNode', ...on, newName: name };
    case 'move':
      return { type: 'MoveNode', ...on, targetPath: inside(step.flag ? '/' : target.path) };
    case 'copy':
      return { type: 'CopyNode', ...on, targetPath: target.path, newName: name, tree: step.flag };
    case 'reorder': {
      const siblings = nodes.filter(({ id, parentId }) => parentId === there.parentId && id !== there.id);
      const targetPath = at(siblings, step.other)?.path ?? target.path;
      return { type: 'ReorderNode', ...on, targetPath, position: step.flag ? 'before' : 'after' };
    }
    case 'publish': {
      const publish = there.publishedAt === null || step.word === 0;
      return { type: 'PublishNode', ...on, publish, tree: step.other % 2 === 0 };
    }
    case 'restore':
      return { type: step.flag ? 'CreateVersion' : 'RestoreVersion', ...on, version: 1 };
    case 'relate':
      return {
        type: 'AddRelation',
        ...on,
        targetWorkspace: CONTENT,
        targetPath: target.path,
        relationType: name,
        weight: step.flag ? step.other : null,
      };
    case 'unrelate': {
      const related = nodes.filter(({ relations }) => relations.length > 0);
      const from = at(related, step.node) ?? there;
      const targetId = at(from.relations, step.other)?.target;
      const targetPath = nodes.find(({ id }) => id === targetId)?.path ?? target.path;
      return {
        type: 'RemoveRelation',
        ...write,
        place: { path: from.path },
        targetWorkspace: CONTENT,
        targetPath,
      };
    }
    case 'translate':
      return {
        type: 'TranslateNode',
        ...on,
        locale: at(locales, step.word),
        translations: { '/title': name },
      };
    case 'locale': {
      const change = at(['delete-translation', 'hide', 'unhide'] as const, step.other);
      return { type: 'ChangeLocale', ...on, locale: at(locales, step.word), change };
    }
    default:
      return {
        type: 'CommitOperations',
        ...write,
        commit: { message: 'several' },
        operations: [
          { type: 'create', parentPath: there.path, node },
          { type: 'update', nodeId: target.id, properties: { [name]: step.other } },
          step.flag
            ? { type: 'delete', nodeId: there.id }
            : { type: 'rename', nodeId: there.id, newName: `${name}x` },
        ],
      };
  }
}

/** What a change tells, without the order in which it was found. */
function told({ details }: NodeChange): unknown {
  const { kinds, properties, propertyCount: _, ...rest } = details as NonNullable<NodeChange['details']>;
  const names = properties === undefined || properties === null ? {} : { properties: [...properties].sort() };
  return { kinds: [...kinds].sort(), ...names, ...rest };
}

/** The relative order of nodes that some states have under one parent. */
function orderIn(nodes: ReadonlyMap<string, NodeRecord>, keys: readonly string[]): string[] {
  const order = (key: string): string => nodes.get(key)?.header.orderKey as string;
  return keys.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}

/** Compares every change of a feed with the states before and after it, and requires that none is left out. */
function requireFeed(reader: TableReader, seen: Set<string>): void {
  const at = (revision: string): Map<string, NodeRecord> => nodesAt(reader, revision, [CONTENT]);
  for (const entry of feedAfter(reader)) {
    seen.add(entry.kind);
    let head = 'previous' in entry ? entry.previous : entry.revision;
    for (const { changes, isUndone, revision } of partsOf(reader, entry)) {
      const record = readRevision(reader, parseRevision(revision)) as RevisionRecord;
      const parent = record.parent ?? '0-0';
      const [from, to] = isUndone ? [revision, parent] : [parent, revision];
      expect(from, 'each part continues where the one before it ended').toBe(head);
      head = to;
      const [before, after] = [at(from), at(to)];
      const expected = new Map<string, unknown>();
      for (const key of new Set([...before.keys(), ...after.keys()])) {
        const change = plainChange(before.get(key), after.get(key));
        if (change !== undefined) expected.set(key, { ...change, kinds: [...change.kinds].sort() });
      }
      const found = new Map<string, unknown>();
      for (const change of changes) {
        if (change.workspace !== CONTENT) continue;
        const key = `${change.workspace} ${change.node_id}`;
        const what = told(change) as { kinds: string[]; pathBefore?: string };
        expect(found.has(key)).toBe(false);
        for (const kind of what.kinds) seen.add(kind);
        const record = after.get(key) ?? before.get(key);
        // A node that was created and deleted by one commit, or is recorded by a merge that leaves it as it is.
        if (what.kinds.length === 0 && !expected.has(key)) continue;
        expect(change.node_type).toBe(record?.header.nodeType);
        // Moved and then deleted by one commit: it tells the last path and the first.
        if (!after.has(key) && change.path !== record?.header.path) {
          expect(what.pathBefore).toBe(record?.header.path);
          delete what.pathBefore;
        } else expect(change.path).toBe(record?.header.path);
        found.set(key, what);
      }
      expect(Object.fromEntries(found), `${entry.kind} ${revision}`).toEqual(Object.fromEntries(expected));
      const stays = [...after.keys()].filter((key) => {
        const kinds = (found.get(key) as { kinds: string[] } | undefined)?.kinds ?? [];
        return before.has(key) && !['reordered', 'moved'].some((kind) => kinds.includes(kind));
      });
      for (const parentId of new Set(stays.map((key) => after.get(key)?.header.parentId))) {
        const siblings = stays.filter((key) => after.get(key)?.header.parentId === parentId);
        expect(orderIn(after, siblings)).toEqual(orderIn(before, siblings));
      }
    }
    expect(head).toBe(entry.revision);
  }
}

describe('what the feed of a branch tells', () => {
  let folder: string;
  let fed: FedBranch;
  let runs = 0;
  const seen = new Set<string>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'feed-kinds-'));
    fed = await FedBranch.open(folder, []);
  });
  afterAll(async () => {
    await fed.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is the difference of the states before and after each commit, whatever the commit is', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        runs += 1;
        const branches = [0, 1].map((number) => actorId(TENANT, 'site~1', `r${runs}-${number}~1`, 'branch'));
        const [first, second] = branches as [ActorId, ActorId];
        const { host } = fed.branch.engine;
        await host.fork(MAIN, first);
        await fed.tell({ type: 'BecomeFork', sourceName: 'main' }, first);
        const begin: Step = { do: 'create', onFork: false, node: 0, other: 0, word: 0, flag: true };
        // A node with a version to be restored, and some nodes beside each other.
        const start: readonly Step[] = [
          begin,
          { ...begin, do: 'restore' },
          { ...begin, word: 1 },
          { ...begin, word: 2 },
          { ...begin, word: 3, node: 1, flag: false },
        ];
        const taken = async (step: Step): Promise<void> => {
          const [branch, other] = step.onFork ? [second, first] : [first, second];
          const command = fed.look((reader) => commandOf(step, other, reader), branch);
          if (command === undefined) return;
          const before = fed.look((reader) => readBranchHead(reader).head, branch);
          await fed.tell(command, branch).then(
            () => {
              const head = fed.look((reader) => readBranchHead(reader).head, branch);
              if (compareRevisions(head, before) !== 0) seen.add(step.do);
            },
            (error: unknown) => {
              // What cannot be done is refused.
              if (!(error instanceof ServiceError) || error.code === 'INTERNAL_SERVER_ERROR') throw error;
            },
          );
        };
        for (const step of start) await taken(step);
        await host.fork(first, second);
        await fed.tell({ type: 'BecomeFork', sourceName: 'r' }, second);
        const alone = all.slice(0, all.length / 3).map((step) => ({ ...step, onFork: false }));
        for (const step of alone) await taken(step);
        await taken({ ...begin, do: 'forward', onFork: true });
        for (const step of all.slice(alone.length)) await taken(step);
        for (const branch of branches) fed.look((reader) => requireFeed(reader, seen), branch);
        for (const branch of branches) await host.destroyUnder(branch.replace(/\/branch$/, ''));
      }),
      { numRuns: runsWanted },
    );
    const entries = ['revision', 'head_moved', 'fast_forwarded', 'created'];
    const kinds = [
      'created',
      'updated',
      'deleted',
      'published',
      'unpublished',
      'moved',
      'renamed',
      'reordered',
    ];
    const others = ['relation_added', 'relation_removed', 'property_changed'];
    // Fewer runs may leave some out.
    if (runsWanted < RUNS) return;
    expect([...seen]).toEqual(
      expect.arrayContaining([...Object.keys(weights), ...entries, ...kinds, ...others]),
    );
  });
});
