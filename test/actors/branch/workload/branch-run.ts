import { expect } from 'vitest';
import type { MergeConflict, MergeResult } from '#actors/branch/merge-messages.ts';
import type { BranchCommand, CommitOperation } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import type { NodeObject } from '#test/support/branch-fixture.ts';
import {
  type Edited,
  edited,
  editedTogether,
  invalidity,
  MODEL_ROOT,
  type ModelContent,
  type ModelEdit,
  type ModelOperation,
  pathOf,
} from './content-model.ts';
import { expectChanges } from './changes-model.ts';
import { HistoryModel } from './history-model.ts';
import {
  emptyContent,
  folded,
  merged,
  type ModelMerge,
  netChanges,
  settled,
  typeChanges,
} from './merge-model.ts';
import { type ModelViolations, violationsIn } from './violation-model.ts';
import {
  afterEdit,
  at,
  editFrom,
  editsFrom,
  everyId,
  ITEM,
  names,
  typeFrom,
  typeOf,
  type WorkloadStep,
} from './workload-step.ts';
import { commandOf, definitionOf, flat, operationOf, seen, treeOf } from './workload-wire.ts';

const workspace = WORKSPACE;

/** Branches one run makes. */
const BRANCHES_MAX = 5;

/** Real branches and their model, brought along together. */
export class BranchRun {
  readonly model = new HistoryModel<ModelContent>(emptyContent);
  readonly branches: string[] = [];
  readonly #family: BranchFamily;
  readonly #name: string;
  #crossed = 0;
  /** By branch and revision: what the revision did there. */
  readonly #touched = new Map<string, ReadonlyMap<string, ModelOperation>>();

  constructor(family: BranchFamily, name: string) {
    this.#family = family;
    this.#name = name;
  }

  /** Makes the first branch, with some nodes on it, and a fork of it. */
  async begin(): Promise<void> {
    const first = `${this.#name}-0`;
    await this.#family.fork(first, 'main');
    this.model.place(first, '0-0');
    const root = await this.#family.head(first);
    this.model.commit(first, root, emptyContent);
    this.branches.push(first);
    await this.#edit(first, { do: 'define', name: ITEM, type: typeFrom(0) });
    const start = [
      ['n0', MODEL_ROOT, 'a'],
      ['n1', 'n0', 'a'],
      ['n2', 'n0', 'b'],
      ['n3', MODEL_ROOT, 'b'],
      ['n4', MODEL_ROOT, 'c'],
    ] as const;
    for (const [id, parentId, name] of start) {
      await this.#edit(first, {
        do: 'create',
        id,
        parentId,
        name,
        nodeType: typeOf(id),
        title: 'x',
        code: null,
      });
    }
    await this.fork(first, true, 0);
  }

  async take(step: WorkloadStep): Promise<void> {
    const branch = at(this.branches, step.on);
    switch (step.do) {
      case 'fork':
        return this.fork(branch, step.flag, step.node);
      case 'rewind':
        return this.#rewind(branch, step.node);
      case 'commit':
        return this.#commit(branch, editsFrom(step, this.model.stateOf(branch)));
      case 'sweep':
        return this.#sweep(branch, 1 + step.node);
      case 'merge':
      case 'cross':
      case 'forward': {
        const source = at(this.branches, step.other);
        if (source === branch) return;
        if (step.do === 'merge') await this.merge(branch, source, step.flag);
        else if (step.do === 'cross') await this.#cross(branch, source);
        else await this.forward(branch, source);
        return;
      }
      default: {
        const edit = editFrom(step, step.do, this.model.stateOf(branch));
        if (edit !== undefined) await this.#edit(branch, edit);
      }
    }
  }

  /**
   * Merges with conflicts or without, as the model says.
   *
   * @param isSettled conflicts are settled for the target, where that is a matter of single nodes
   */
  async merge(target: string, source: string, isSettled = false): Promise<void> {
    const heads = [this.model.headOf(target), this.model.headOf(source)] as const;
    const { behind } = this.model.compareAt(...heads);
    const outcome = this.mergeModel(...heads);
    const answer = await this.#merge(target, source, 'ThreeWay').catch(refusal);
    if (behind === 0) {
      expect(answer).toMatchObject({ success: true, nodes_changed: 0, head: heads[0] });
    } else if (outcome.conflicts.length > 0 || outcome.clashes.length > 0 || unfit(outcome).size > 0) {
      const { conflicts } = expectConflicts(answer, outcome);
      if (isSettled) await this.#settle(target, source, conflicts, outcome);
    } else {
      const { changes } = outcome;
      expect(answer).toMatchObject({
        success: true,
        conflicts: [],
        fast_forward: false,
        nodes_changed: changes.size,
        target_head: heads[0],
        source_head: heads[1],
      });
      const { head } = answer as MergeResult;
      this.model.commit(target, head, outcome.merged, heads[1]);
      this.#touched.set(`${target} ${head}`, changes);
    }
    await this.checkHead(target);
  }

  /** Settles conflicts for the target. Left alone are those that reach further than the nodes they name. */
  async #settle(
    target: string,
    source: string,
    conflicts: readonly MergeConflict[],
    outcome: ModelMerge,
  ): Promise<void> {
    const heads = [this.model.headOf(target), this.model.headOf(source)] as const;
    const { nodes, types } = outcome.merged;
    // A node that is kept against its deletion keeps what was deleted with it.
    const isKept = conflicts.some((one) => one.conflict_type === 'DeletedBySourceModifiedByTarget');
    const isWide = isKept || outcome.clashes.length > 0 || conflicts.length !== outcome.conflicts.length;
    const isOfTypes = [...heads.map((head) => this.model.stateAt(head)), outcome.sides.base].some(
      (content) => JSON.stringify([...content.types]) !== JSON.stringify([...types]),
    );
    const isInvalid = [...nodes.values()].some((node) => invalidity(outcome.merged, node) !== undefined);
    if (isWide || isOfTypes || isInvalid) return;
    const resolutions = conflicts.map(({ node_id: nodeId, translation_locale: locale }) => {
      return { nodeId, ...(locale === undefined ? {} : { locale }), type: 'keep-ours' as const };
    });
    const from = { source: this.#family.actor(source), sourceName: source };
    const command: BranchCommand = { type: 'ResolveMerge', ...from, resolutions, dryRun: false };
    const { changes, content } = settled(outcome);
    const answer = await this.#family.command<MergeResult>(target, command);
    expect(answer).toMatchObject({ success: true, conflicts: [], nodes_changed: changes.size });
    this.model.commit(target, answer.head, content, heads[1]);
    this.#touched.set(`${target} ${answer.head}`, changes);
  }

  /** Merges two branches into each other, both as they were before; they have two merge bases then. */
  async #cross(one: string, other: string): Promise<void> {
    this.#crossed += 1;
    const before = `${this.#name}-before-${this.#crossed}`;
    await this.#family.fork(before, one);
    this.model.fork(before, one, this.model.headOf(one));
    await this.merge(one, other);
    await this.merge(other, before);
  }

  /** What merging one revision into another comes to. */
  mergeModel(target: string, source: string): ModelMerge {
    const base = this.model.baseState(target, source, folded);
    const isCrossed = this.model.basesOf(target, source).length > 1;
    return merged({
      base,
      target: this.model.stateAt(target),
      source: this.model.stateAt(source),
      isCrossed,
    });
  }

  /** Fast-forwards where the model says that it is possible. @returns whether the target moved */
  async forward(target: string, source: string): Promise<boolean> {
    const { model } = this;
    const hasNothingNew = model.compare(target, source).behind === 0;
    const way = hasNothingNew ? [] : model.wayTo(target, source);
    const has = new Set(model.revisionsOf(target));
    const tip = model.revisionsOf(target).at(-1) as string;
    const known = way?.findLastIndex((revision) => has.has(revision)) ?? -1;
    const fresh = way?.slice(known + 1);
    const answer = await this.#merge(target, source, 'FastForward').catch(refusal);
    if (way === undefined || fresh === undefined || fresh.some((revision) => isBefore(revision, tip))) {
      expect(answer).toBe('VALIDATION_FAILED');
      return false;
    }
    const isMoved = way.length > 0;
    const head = model.headOf(isMoved ? source : target);
    expect(answer).toMatchObject({ success: true, fast_forward: isMoved, head });
    model.place(target, way[known] ?? model.headOf(target));
    this.#takeOver(target, source, fresh);
    model.fastForward(target, fresh);
    await this.checkHead(target);
    const isSameLine = model.firstParents(target).join() === model.firstParents(source).join();
    if (isMoved && isSameLine) await this.#checkSame(target, source, [...fresh, head]);
    return isMoved;
  }

  /** What revisions of the source change on the target, which stands where they begin. */
  #takeOver(target: string, source: string, fresh: readonly string[]): void {
    for (const revision of fresh) {
      this.#touched.set(`${target} ${revision}`, this.#touchedBy(source, revision));
    }
    const [first] = fresh;
    const start = this.model.headOf(target);
    if (first === undefined || this.model.firstParents(source, first)[1] === start) return;
    // A merge of the source that continues the target here changed something else there.
    const changes = netChanges(this.model.stateAt(start), this.model.stateAt(first));
    this.#touched.set(`${target} ${first}`, changes);
  }

  #touchedBy(branch: string, revision: string): ReadonlyMap<string, ModelOperation> {
    return this.#touched.get(`${branch} ${revision}`) ?? new Map();
  }

  /** Every byte that reads answer as of some revisions, on two branches that came there by the same ones. */
  async #checkSame(one: string, other: string, revisions: readonly string[]): Promise<void> {
    for (const revision of revisions) {
      const at = parseRevision(revision);
      const queries = [
        { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat', at },
        { type: 'ListDefinitions', kind: 'node_type', publishedOnly: false, at },
      ] as const;
      for (const query of queries) {
        const answers = await Promise.all([one, other].map((branch) => this.#family.query(branch, query)));
        expect(answers[0], `${query.type} of ${one} and ${other} at ${revision}`).toEqual(answers[1]);
      }
    }
    expect(await this.#family.damage(one)).toEqual([]);
  }

  /** The content of the head against the model. */
  async checkHead(branch: string): Promise<void> {
    expect(await this.#family.head(branch)).toBe(this.model.headOf(branch));
    expect(await this.#shown(branch)).toEqual(treeOf(this.model.stateOf(branch)));
  }

  /** Everything that can be read, of every branch and every pair of them. */
  async checkAll(): Promise<void> {
    for (const branch of this.branches) {
      await this.checkHead(branch);
      expect(await this.#family.damage(branch), branch).toEqual([]);
      for (const revision of this.model.revisionsOf(branch)) await this.#checkRevision(branch, revision);
      await this.#checkHistory(branch);
      for (const base of this.branches) await this.#checkPair(branch, base);
    }
  }

  async #checkRevision(branch: string, revision: string): Promise<void> {
    const content = this.model.stateAt(revision);
    const moment = { at: parseRevision(revision) };
    expect(await this.#shown(branch, revision), `${branch} at ${revision}`).toEqual(treeOf(content));
    for (const id of everyId) {
      const path = content.nodes.has(id) ? pathOf(content.nodes, id) : undefined;
      const found = await this.#node(branch, { id }, revision);
      expect(found?.path, `${id} at ${revision}`).toBe(path);
      if (path === undefined) continue;
      expect((await this.#node(branch, { path }, revision))?.id).toBe(id);
    }
    for (const name of names) {
      const path = `/${name}`;
      const wanted = [...content.nodes.values()].find((node) => pathOf(content.nodes, node.id) === path);
      expect((await this.#node(branch, { path }, revision))?.id, `${path} at ${revision}`).toBe(wanted?.id);
    }
    const query = {
      type: 'RunQuery',
      workspace,
      selector: { nodeType: ITEM },
      limit: 1000,
      ...moment,
    } as const;
    const { items } = await this.#family.query<{ items: readonly NodeObject[] }>(branch, query);
    const expected = [...content.nodes.values()].filter(({ nodeType }) => nodeType === ITEM);
    expect(items.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort());
    const list = { type: 'ListDefinitions', kind: 'node_type', publishedOnly: false, ...moment } as const;
    const definitions = await this.#family.query<readonly JsonObject[]>(branch, list);
    const own = definitions.filter(({ name }) => name === ITEM);
    const type = content.types.get(ITEM);
    expect(own).toMatchObject(type === undefined ? [] : [definitionOf(ITEM, type)]);
    const touched = this.#touched.get(`${branch} ${revision}`);
    if (touched === undefined) return;
    const read = { type: 'ReadRevisionChanges', revision: parseRevision(revision) } as const;
    const changes = await this.#family.query<readonly { node_id: string; operation: string }[]>(branch, read);
    const found = changes.map(({ node_id, operation }) => [node_id, operation]);
    expect(found.sort(), `changes of ${revision} on ${branch}`).toEqual([...touched].sort());
  }

  /** The list of revisions, and that of every node. */
  async #checkHistory(branch: string): Promise<void> {
    const line = this.model.firstParents(branch);
    const list = { type: 'ListRevisions', limit: line.length, offset: 0, includeSystem: true } as const;
    const { revisions } = await this.#family.query<{ revisions: readonly { revision: string }[] }>(
      branch,
      list,
    );
    expect(revisions.map(({ revision }) => revision)).toEqual(line);
    for (const id of everyId) {
      const wanted = line.flatMap((revision, index) => {
        const operation = this.#touched.get(`${branch} ${revision}`)?.get(id);
        // A merge may say of a node that it is gone which has not been there.
        const wasThere = this.model.stateAt(line[index + 1] ?? '0-0').nodes.has(id);
        if (operation === undefined || (operation === 'deleted' && !wasThere)) return [];
        return [[revision, operation === 'deleted']];
      });
      const query = { type: 'ReadHistory', workspace, place: { id } } as const;
      const entries = await this.#family
        .query<readonly { revision: string; deleted: boolean }[]>(branch, query)
        .catch(missing);
      const found = (entries ?? []).map(({ deleted, revision }) => [revision, deleted]);
      expect(found, `history of ${id} on ${branch}`).toEqual(wanted);
    }
  }

  async #checkPair(branch: string, base: string): Promise<void> {
    const heads = [this.model.headOf(branch), this.model.headOf(base)] as const;
    const { ahead, behind, bases } = this.model.compareAt(...heads);
    const common_ancestor = bases[0] ?? '0-0';
    const pair = `${branch} against ${base}`;
    expect(await this.#family.compare(branch, base), pair).toEqual({ ahead, behind, common_ancestor });
    const found = await this.#family.diff(branch, base);
    expect(found.common_ancestor).toBe(common_ancestor);
    const before = this.model.baseState(...heads, folded);
    const after = this.model.stateOf(branch);
    const wanted = [...netChanges(before, after)]
      .filter(([, operation]) => operation !== 'reordered')
      .map(([id, operation]) => {
        // Of several bases there may be no tree to be made.
        const path = pathOf((after.nodes.has(id) ? after : before).nodes, id) ?? expect.any(String);
        return [id, operation, path];
      });
    expect(flat(found), pair).toEqual(wanted.sort());
    const definitions = found.definitions.map(({ name, operation }) => [name, operation]);
    expect(definitions, pair).toEqual([...typeChanges(before, after)].sort());
    expectChanges(await this.#family.detailedDiff(branch, base), found, before, after);
  }

  #edit(branch: string, edit: ModelEdit): Promise<void> {
    const content = this.model.stateOf(branch);
    return this.#write(branch, commandOf(edit, content), edited(content, edit));
  }

  async #commit(branch: string, edits: readonly ModelEdit[]): Promise<void> {
    if (edits.length === 0) return;
    const operations: CommitOperation[] = [];
    let content = this.model.stateOf(branch);
    for (const edit of edits) {
      operations.push(operationOf(edit, content));
      content = afterEdit(content, edit);
    }
    const commit = { message: 'several' };
    const command = { type: 'CommitOperations', workspace, commit, operations } as const;
    await this.#write(branch, command, editedTogether(this.model.stateOf(branch), edits));
  }

  async #write(branch: string, command: BranchCommand, wanted: Edited): Promise<void> {
    const answer = await this.#family.command<{ revision: string | null }>(branch, command).catch(refusal);
    if (typeof answer === 'string') expect(wanted, JSON.stringify(command)).toBe('refused');
    else if (answer.revision === null) expect(wanted, JSON.stringify(command)).toBe('nothing');
    else {
      if (typeof wanted === 'string') throw new Error(`${JSON.stringify(command)} was done, not ${wanted}`);
      this.model.commit(branch, answer.revision, wanted.content);
      this.#touched.set(`${branch} ${answer.revision}`, wanted.touched);
      return;
    }
    expect(await this.#family.head(branch)).toBe(this.model.headOf(branch));
  }

  /** As often from the head as from somewhere in the past, which may be off the way to the head. */
  async fork(source: string, isFromHead: boolean, back: number): Promise<void> {
    if (this.branches.length >= BRANCHES_MAX) return;
    const branch = `${this.#name}-${this.branches.length}`;
    const revisions = this.model.revisionsOf(source);
    const revision = isFromHead
      ? this.model.headOf(source)
      : (revisions.at(-1 - (back % revisions.length)) as string);
    await this.#family.fork(branch, source, isFromHead ? undefined : revision);
    this.model.fork(branch, source, revision);
    for (const one of this.model.revisionsOf(branch)) {
      const touched = this.#touched.get(`${source} ${one}`);
      if (touched !== undefined) this.#touched.set(`${branch} ${one}`, touched);
    }
    this.branches.push(branch);
    await this.checkHead(branch);
  }

  async #rewind(branch: string, by: number): Promise<void> {
    const revisions = this.model.revisionsOf(branch);
    const revision = revisions.at(-1 - (by % revisions.length)) as string;
    await this.#family.command(branch, { type: 'MoveHead', revision });
    this.model.place(branch, revision);
    await this.checkHead(branch);
  }

  /** Removes some of what a fork has of its source's later revisions, as the background job does. */
  async #sweep(branch: string, rowsMax: number): Promise<void> {
    await this.#family.command(branch, { type: 'RemoveOrphanedVersions', rowsMax });
    await this.checkHead(branch);
  }

  #merge(target: string, source: string, strategy: 'ThreeWay' | 'FastForward'): Promise<MergeResult> {
    const from = { source: this.#family.actor(source), sourceName: source };
    return this.#family.command(target, { type: 'MergeBranch', ...from, strategy, dryRun: false });
  }

  async #shown(branch: string, revision?: string): Promise<readonly unknown[]> {
    const moment = revision === undefined ? {} : { at: parseRevision(revision) };
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat' } as const;
    const nodes = await this.#family.query<readonly NodeObject[]>(branch, { ...query, ...moment });
    return nodes.map(seen);
  }

  async #node(
    branch: string,
    place: { readonly id: string } | { readonly path: string },
    revision: string,
  ): Promise<NodeObject | undefined> {
    const query = { type: 'ReadNode', workspace, place, at: parseRevision(revision) } as const;
    return this.#family.query<NodeObject>(branch, query).catch(missing);
  }
}

function isBefore(one: string, other: string): boolean {
  const [a, b] = [parseRevision(one), parseRevision(other)];
  return a.ms < b.ms || (a.ms === b.ms && a.counter < b.counter);
}

/** The code of a refusal; anything that is the server's fault is thrown on. */
export function refusal(error: unknown): string {
  if (!(error instanceof ServiceError) || error.entry.status >= 500) throw error;
  return error.code;
}

function missing(error: unknown): undefined {
  if (refusal(error) !== 'NODE_NOT_FOUND') throw error;
}

/** What does not fit together where nothing is in conflict. */
function unfit({ merged: content, sides }: ModelMerge): ModelViolations {
  return violationsIn(content, sides, new Set());
}

/**
 * The conflicts of single aspects are listed all and as they are. Of what does not fit together in one tree at least
 * one node is named, unless the nodes it is about are in conflict anyway; nothing else is named. What is not valid
 * together is listed all, each node and type with what is wrong.
 */
export function expectConflicts(answer: MergeResult | string, outcome: ModelMerge): MergeResult {
  const { clashes, conflicts, entangled, merged: content, sides } = outcome;
  if (typeof answer === 'string') throw new Error(`${answer}, not ${JSON.stringify({ clashes, conflicts })}`);
  expect(answer).toMatchObject({ success: false, nodes_changed: 0 });
  const text = ({
    id,
    kind,
    locale,
    path,
  }: {
    id: string;
    kind: string;
    path: string;
    locale?: string;
  }): string => JSON.stringify([id, path, kind, locale ?? null]);
  const found = answer.conflicts.filter(({ violations }) => violations === undefined).map(ofWire);
  const disputed = new Set(found.filter(({ locale }) => locale === undefined).map(({ id }) => id));
  const violations = answer.conflicts.flatMap(({ node_id, violations: wrongs }) => {
    const kinds = new Set(wrongs?.map(({ violation_type }) => violation_type));
    return wrongs === undefined ? [] : [[node_id, kinds] as const];
  });
  expect(new Map(violations), 'what is not valid together').toEqual(violationsIn(content, sides, disputed));
  const wanted = new Set(conflicts.map(text));
  const others = found.filter((conflict) => !wanted.delete(text(conflict)));
  expect([...wanted], 'conflicts that were not found').toEqual([]);
  expect(
    others.filter(({ id }) => !entangled.has(id)),
    'conflicts that are none',
  ).toEqual([]);
  expect(
    clashes.filter(({ ids }) => !ids.some((id) => disputed.has(id))),
    'clashes that were not found',
  ).toEqual([]);
  return answer;
}

function ofWire(conflict: MergeConflict): { id: string; path: string; kind: string; locale?: string } {
  const { conflict_type: kind, node_id: id, path, translation_locale: locale } = conflict;
  return locale === undefined ? { id, path, kind } : { id, path, kind, locale };
}

/** Carries a workload out on branches of its own and compares everything that can be read with the model. */
export async function runWorkload(
  family: BranchFamily,
  name: string,
  steps: readonly WorkloadStep[],
): Promise<void> {
  const run = new BranchRun(family, name);
  await run.begin();
  for (const step of steps) await run.take(step);
  await run.checkAll();
}
