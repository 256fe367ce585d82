import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConflictList, MergeResult } from '#actors/branch/merge-messages.ts';
import type { BranchCommand, BranchComparison, ForkMade } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, type Difference, WORKSPACE } from '#test/support/branch-family.ts';
import type { NodeObject } from '#test/support/branch-fixture.ts';
import { expectConflicts, refusal } from '../workload/branch-run.ts';
import {
  edited,
  FOLDER,
  MODEL_ROOT,
  type ModelContent,
  type ModelEdit,
  pathOf,
} from '../workload/content-model.ts';
import { HistoryModel, newestFirst } from '../workload/history-model.ts';
import { emptyContent, folded, merged, type ModelMerge, netChanges } from '../workload/merge-model.ts';
import { flat, seen, treeOf } from '../workload/workload-wire.ts';

const workspace = WORKSPACE;

/** Nodes that the source has and the target has not: their merge is far longer than a slice. */
const AHEAD = 300;

/** Writers on each branch, and how often each writes. */
const WRITERS = 3;
const WRITES = 30;

/** Comparisons and forks made meanwhile, at most: the model takes its time for each. */
const COMPARISONS_MAX = 15;
const FORKS_MAX = 4;

/** Folders that everybody writes into. */
const FOLDERS = 4;

/** What was answered to something that changed a branch. The parent is by path, as it was sent. */
interface Written {
  readonly branch: string;
  readonly revision: string;
  readonly edit?: Exclude<ModelEdit, { do: 'create' | 'move' }> | Placed<'create'> | Placed<'move'>;
  readonly merge?: MergeResult & { readonly source: string };
}

type Placed<Do extends ModelEdit['do']> = Omit<Extract<ModelEdit, { do: Do }>, 'parentId'> & {
  readonly parentPath: string;
};

/** Numbers that look random, always the same for a seed. */
function numbersOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
}

/** Two branches that are written to, merged, compared and forked all at once. */
class Crowd {
  readonly model = new HistoryModel<ModelContent>(emptyContent);
  readonly target: string;
  readonly source: string;
  readonly #family: BranchFamily;
  readonly #number: (below: number) => number;
  /** What the model has not been told yet. */
  readonly #written: Written[] = [];
  readonly #merged: { readonly branch: string; readonly revision: string }[] = [];
  readonly #conflicts: (MergeResult & { readonly target: string; readonly source: string })[] = [];
  /** What was asked at two revisions, to be compared with the model at the end. */
  readonly #asked: (() => void)[] = [];
  readonly #forks: { readonly branch: string; readonly source: string; readonly head: string }[] = [];
  #ids = 0;

  constructor(family: BranchFamily, name: string, seed: number) {
    this.#family = family;
    this.#number = numbersOf(seed);
    this.target = `${name}-target`;
    this.source = `${name}-source`;
  }

  async begin(): Promise<void> {
    await this.#family.fork(this.target, 'main');
    this.model.place(this.target, '0-0');
    this.model.commit(this.target, await this.#family.head(this.target), emptyContent);
    for (let index = 0; index < FOLDERS; index++) await this.#create(this.target, '/', `f${index}`);
    for (let index = 0; index < 12; index++)
      await this.#create(this.target, `/f${index % FOLDERS}`, `n${index}`);
    this.#replay();
    await this.#family.fork(this.source, this.target);
    this.model.fork(this.source, this.target, this.model.headOf(this.target));
    for (let index = 0; index < AHEAD; index++) {
      await this.#create(this.source, `/f${index % FOLDERS}`, `ahead${index}`);
    }
  }

  async run(): Promise<void> {
    const branches = [this.target, this.source];
    const writers = branches.flatMap((branch) => Array.from({ length: WRITERS }, () => this.#writer(branch)));
    let isWriting = true;
    const written = Promise.all(writers).finally(() => {
      isWriting = false;
    });
    const others = [
      this.#repeat(
        () => isWriting,
        () => this.#merge(this.target, this.source),
      ),
      this.#repeat(
        () => isWriting,
        () => this.#merge(this.source, this.target),
      ),
      this.#repeat(
        () => isWriting && this.#asked.length < COMPARISONS_MAX,
        () => this.#compare(),
      ),
      this.#repeat(
        () => isWriting && this.#forks.length < FORKS_MAX,
        () => this.#fork(),
      ),
    ];
    await Promise.all([written, ...others]);
    await this.#merge(this.target, this.source);
    for (const branch of branches)
      await this.#send(branch, { do: 'update', id: 'n0', title: branch, code: null });
    await this.#merge(this.source, this.target);
  }

  /** Holds everything that was answered against the model, which does one thing after the other. */
  async check(): Promise<{ readonly merges: number; readonly conflicts: number; readonly forks: number }> {
    this.#replay();
    for (const branch of [this.target, this.source]) {
      const line = this.model.firstParents(branch);
      const list = { type: 'ListRevisions', limit: line.length, offset: 0, includeSystem: true } as const;
      const { revisions } = await this.#family.query<{ revisions: { revision: string }[] }>(branch, list);
      expect(revisions.map(({ revision }) => revision)).toEqual(line);
      expect(await this.#tree(branch)).toEqual(treeOf(this.model.stateOf(branch)));
      expect(await this.#family.damage(branch)).toEqual([]);
    }
    for (const { branch, revision } of this.#merged) {
      expect(await this.#tree(branch, revision)).toEqual(treeOf(this.model.stateAt(revision)));
    }
    for (const conflict of this.#conflicts) {
      expectConflicts(conflict, this.#mergeModel(conflict.target_head, conflict.source_head));
    }
    for (const { branch, head, source } of this.#forks) {
      this.model.fork(branch, source, head);
      expect(await this.#tree(branch)).toEqual(treeOf(this.model.stateAt(head)));
      expect(await this.#family.damage(branch)).toEqual([]);
    }
    for (const compare of this.#asked) compare();
    return { merges: this.#merged.length, conflicts: this.#conflicts.length, forks: this.#forks.length };
  }

  /** Carries everything that was written out on the model, in the order of the revisions. */
  #replay(): void {
    this.#written.sort((a, b) => newestFirst(b.revision, a.revision));
    for (const { branch, edit, merge, revision } of this.#written.splice(0)) {
      const content = this.model.stateOf(branch);
      if (merge !== undefined) {
        expect(this.model.headOf(branch), 'a merge names the head it was made at').toBe(merge.target_head);
        const outcome = this.#mergeModel(merge.target_head, merge.source_head);
        expect([outcome.conflicts, outcome.clashes]).toEqual([[], []]);
        expect(merge.nodes_changed).toBe(outcome.changes.size);
        this.model.commit(branch, revision, outcome.merged, merge.source_head);
        this.#merged.push({ branch, revision });
        continue;
      }
      const done = edited(content, placed(edit as NonNullable<Written['edit']>, content));
      if (typeof done === 'string') throw new Error(`${JSON.stringify(edit)} was done, not ${done}`);
      this.model.commit(branch, revision, done.content);
    }
  }

  #mergeModel(target: string, source: string): ModelMerge {
    const base = this.model.baseState(target, source, folded);
    const isCrossed = this.model.basesOf(target, source).length > 1;
    return merged({
      base,
      target: this.model.stateAt(target),
      source: this.model.stateAt(source),
      isCrossed,
    });
  }

  async #repeat(goesOn: () => boolean, work: () => Promise<void>): Promise<void> {
    while (goesOn()) await work();
  }

  async #writer(branch: string): Promise<void> {
    const own: string[] = [];
    for (let count = 0; count < WRITES; count++) {
      const below = `/f${this.#number(FOLDERS)}`;
      const id = own[this.#number(Math.max(own.length, 1))];
      const kind = this.#number(8);
      if (id === undefined || kind < 3) own.push(await this.#create(branch, below));
      else if (kind === 3) await this.#send(branch, { do: 'update', id, title: `t${count}`, code: null });
      else if (kind === 4)
        await this.#send(branch, {
          do: 'move',
          id,
          parentPath: below,
          name: `${branch.length}m${this.#ids++}`,
        });
      else if (kind === 5) await this.#send(branch, { do: 'rename', id, name: `r${this.#ids++}` });
      else if (kind === 6)
        await this.#send(branch, { do: 'translate', id, locale: 'de', value: `d${count}` });
      // Now and then something both branches have, so that some merges are in conflict.
      else if (this.#number(6) > 0) await this.#send(branch, { do: 'delete', id });
      else await this.#send(branch, { do: 'update', id: 'n0', title: `${branch}${count}`, code: null });
    }
  }

  async #create(branch: string, parentPath: string, id = `${branch.at(-1)}${this.#ids++}`): Promise<string> {
    await this.#send(branch, {
      do: 'create',
      id,
      parentPath,
      name: id,
      nodeType: FOLDER,
      title: '',
      code: null,
    });
    return id;
  }

  async #send(branch: string, edit: NonNullable<Written['edit']>): Promise<void> {
    const answer = await this.#family
      .command<{ revision: string | null }>(branch, commandOf(edit))
      .catch(refusal);
    if (typeof answer === 'string' || answer.revision === null) return;
    this.#written.push({ branch, revision: answer.revision, edit });
  }

  async #merge(target: string, source: string): Promise<void> {
    const command: BranchCommand = {
      type: 'MergeBranch',
      source: this.#family.actor(source),
      sourceName: source,
      strategy: 'ThreeWay',
      dryRun: false,
    };
    const answer = await this.#family.command<MergeResult>(target, command);
    if (!answer.success) this.#conflicts.push({ ...answer, target, source });
    else if (answer.head !== answer.target_head) {
      this.#written.push({ branch: target, revision: answer.head, merge: { ...answer, source } });
    }
  }

  /** Asks about two revisions while both branches go on, and once at the heads, which the answer names. */
  async #compare(): Promise<void> {
    const { source, target } = this;
    const heads = await Promise.all([this.#family.head(target), this.#family.head(source)]);
    const [at, baseAt] = heads.map(parseRevision) as [never, never];
    const base = this.#family.actor(source);
    const [compared, differing, listed] = await Promise.all([
      this.#family.query<BranchComparison>(target, { type: 'CompareBranch', base, at, baseAt }),
      this.#family.query<Difference>(target, { type: 'DiffBranch', base, at, baseAt }),
      this.#family.query<ConflictList>(target, { type: 'ListConflicts', source: base }),
    ]);
    this.#asked.push(() => {
      const { ahead, behind, bases } = this.model.compareAt(...heads);
      expect(compared).toEqual({ ahead, behind, common_ancestor: bases[0] });
      const before = this.model.baseState(...heads, folded);
      const after = this.model.stateAt(heads[0]);
      const changes = [...netChanges(before, after)].filter(([, operation]) => operation !== 'reordered');
      const paths = changes.map(([id, operation]) => {
        return [id, operation, pathOf((after.nodes.has(id) ? after : before).nodes, id)];
      });
      expect(flat(differing)).toEqual(paths.sort());
      const { conflicts } = this.#mergeModel(listed.target_head, listed.source_head);
      expect(listed.conflicts.map(({ node_id }) => node_id)).toEqual(conflicts.map(({ id }) => id));
    });
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #fork(): Promise<void> {
    const branch = `${this.source}-fork-${this.#forks.length}`;
    await this.#family.fixture.host.fork(this.#family.actor(this.source), this.#family.actor(branch));
    const { head } = await this.#family.command<ForkMade>(branch, {
      type: 'BecomeFork',
      sourceName: this.source,
    });
    this.#forks.push({ branch, source: this.source, head });
  }

  async #tree(branch: string, revision?: string): Promise<readonly unknown[]> {
    const moment = revision === undefined ? {} : { at: parseRevision(revision) };
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat' } as const;
    return (await this.#family.query<readonly NodeObject[]>(branch, { ...query, ...moment })).map(seen);
  }
}

/** The edit in the terms of the model: places by id, as they were when it was done. */
function placed(edit: NonNullable<Written['edit']>, { nodes }: ModelContent): ModelEdit {
  if (edit.do !== 'create' && edit.do !== 'move') return edit;
  const { parentPath, ...rest } = edit;
  const parent = [...nodes.keys()].find((id) => pathOf(nodes, id) === parentPath);
  return { ...rest, parentId: parent ?? MODEL_ROOT };
}

function commandOf(edit: NonNullable<Written['edit']>): BranchCommand {
  if (edit.do === 'define' || edit.do === 'undefine') throw new Error('no types are changed here');
  const { id } = edit;
  const on = { workspace, place: { id } };
  switch (edit.do) {
    case 'create': {
      const node = { id, name: edit.name, nodeType: edit.nodeType, properties: { title: edit.title } };
      return { type: 'CreateNode', workspace, parentPath: edit.parentPath, node, deep: false };
    }
    case 'update':
      return { type: 'UpdateNode', ...on, properties: { title: edit.title } };
    case 'move':
      return { type: 'MoveNode', ...on, targetPath: `${edit.parentPath}/${edit.name}` };
    case 'rename':
      return { type: 'RenameNode', ...on, newName: edit.name };
    case 'translate':
      return { type: 'TranslateNode', ...on, locale: edit.locale, translations: { '/title': edit.value } };
    default:
      return { type: 'DeleteNode', ...on };
  }
}

describe('writers on both branches', () => {
  let family: BranchFamily;
  let runs = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  it('lose nothing to merges, and merges, comparisons and forks show whole revisions', async () => {
    const total = { merges: 0, conflicts: 0, forks: 0 };
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        runs += 1;
        const crowd = new Crowd(family, `c${runs}`, seed);
        await crowd.begin();
        await crowd.run();
        const { conflicts, forks, merges } = await crowd.check();
        total.merges += merges;
        total.conflicts += conflicts;
        total.forks += forks;
      }),
      { numRuns: 1 },
    );
    for (const count of Object.values(total)) expect(count).toBeGreaterThan(0);
  });

  /** A branch with some nodes, and a fork of it that has many more, one of them changed by its last revision. */
  async function apart(name: string): Promise<{ target: string; source: string; heads: readonly string[] }> {
    const [target, source] = [`${name}-target`, `${name}-source`];
    await family.fork(target, 'main');
    await family.create(target, '/f', '', 'f');
    await family.fork(source, target);
    await family.update(target, '/f', 'ours');
    const operations = Array.from({ length: AHEAD }, (_, index) => {
      const node = { id: `n${index}`, name: `n${index}`, nodeType: FOLDER, properties: { title: 'one' } };
      return { type: 'create' as const, parentPath: '/f', node };
    });
    const commit = { message: 'many' };
    const many = { type: 'CommitOperations', workspace, commit, operations } as const;
    const heads = [(await family.command(source, many)).revision as string];
    heads.push((await family.update(source, '/f/n0', 'two')).revision as string);
    return { target, source, heads };
  }
  const merge = (target: string, source: string): Promise<MergeResult> =>
    family.command(target, {
      type: 'MergeBranch',
      source: family.actor(source),
      sourceName: source,
      strategy: 'ThreeWay',
      dryRun: false,
    });
  const titles = async (branch: string): Promise<readonly unknown[]> => {
    const query = { type: 'ReadTree', workspace, place: { path: '/f' }, levels: 1, form: 'flat' } as const;
    const nodes = await family.query<readonly NodeObject[]>(branch, query);
    return nodes.filter(({ path }) => path !== '/f').map(({ properties }) => properties.title);
  };

  it('moving the head of the source meanwhile get the merge of the head it names', async () => {
    const { heads, source, target } = await apart('moved');
    let isMerging = true;
    const merged = merge(target, source).finally(() => {
      isMerging = false;
    });
    let moves = 0;
    while (isMerging) {
      await family.command(source, { type: 'MoveHead', revision: heads[moves % 2] as string });
      moves += 1;
    }
    expect(moves).toBeGreaterThan(1);
    const { source_head, success } = await merged;
    expect([success, heads.includes(source_head)]).toEqual([true, true]);
    const changed = (await titles(target)).filter((title) => title === 'two');
    expect(changed).toHaveLength(source_head === heads[0] ? 0 : 1);
    expect(await titles(target)).toHaveLength(AHEAD);
    expect(await family.damage(target)).toEqual([]);
    expect(await family.damage(source)).toEqual([]);
  });

  it('deleting the source meanwhile get all of it or nothing', async () => {
    const { source, target } = await apart('deleted');
    const before = await family.head(target);
    const merged = merge(target, source).then(
      ({ success }) => success,
      (error: { code?: string }) => error.code,
    );
    await new Promise((resolve) => setImmediate(resolve));
    await family.remove(source);
    const outcome = await merged;
    expect([true, 'NOT_FOUND']).toContain(outcome);
    expect((await titles(target)).length).toBe(outcome === true ? AHEAD : 0);
    expect((await family.head(target)) === before).toBe(outcome !== true);
    expect(await family.damage(target)).toEqual([]);
  });
});
