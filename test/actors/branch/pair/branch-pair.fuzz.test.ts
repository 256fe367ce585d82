import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BranchFamily, type Difference, WORKSPACE } from '#test/support/branch-family.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { BranchModel, type ModelDiff, type ModelNode } from '../workload/branch-model.ts';

/** One thing that happens; numbers pick among what is there. */
type Step =
  | { readonly do: 'create'; readonly branch: number; readonly id: number }
  | { readonly do: 'update'; readonly branch: number; readonly node: number; readonly title: string }
  | { readonly do: 'rename' | 'delete' | 'rewind'; readonly branch: number; readonly node: number }
  | { readonly do: 'fork'; readonly branch: number; readonly back: number }
  | {
      readonly do: 'merge';
      readonly branch: number;
      readonly from: number;
      readonly winner: 'own' | 'other';
    };

const pick = fc.nat({ max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  // Few ids, so that the same node is made on several branches, or again after it was deleted.
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('create' as const), branch: pick, id: fc.nat({ max: 7 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('update' as const),
      branch: pick,
      node: pick,
      // Few titles, so that edits are undone and made twice.
      title: fc.constantFrom('x', 'y'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('rename' as const, 'delete' as const),
      branch: pick,
      node: pick,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('rewind' as const), branch: pick, node: fc.nat({ max: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('fork' as const), branch: pick, back: fc.nat({ max: 3 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('merge' as const),
      branch: pick,
      from: pick,
      winner: fc.constantFrom('own' as const, 'other' as const),
    }),
  },
);

const BRANCHES_MAX = 4;

/** Real branches and their model, brought along together. */
class Run {
  readonly model = new BranchModel();
  readonly branches: string[] = [];
  readonly #family: BranchFamily;
  readonly #name: string;

  constructor(family: BranchFamily, name: string) {
    this.#family = family;
    this.#name = name;
  }

  async begin(): Promise<void> {
    const first = `${this.#name}-0`;
    await this.#family.fork(first, 'main');
    this.model.place(first, '0-0');
    const root = await this.#family.head(first);
    this.model.commit(first, root, new Map());
    this.branches.push(first);
  }

  async take(step: Step): Promise<void> {
    const branch = this.branches[step.branch % this.branches.length] as string;
    const state = new Map(this.model.stateOf(branch));
    switch (step.do) {
      case 'create':
        return this.#create(branch, state, `n${step.id}`);
      case 'fork':
        return this.#fork(branch, step.back);
      case 'rewind':
        return this.#rewind(branch, step.node);
      case 'merge':
        return this.#merge(branch, this.branches[step.from % this.branches.length] as string, step.winner);
      default:
        return this.#edit(branch, state, step);
    }
  }

  async #create(branch: string, state: Map<string, ModelNode>, id: string): Promise<void> {
    if (state.has(id)) return;
    const path = `/${id}`;
    const revision = await this.#family.create(branch, path, 'new', id);
    this.model.commit(branch, revision, state.set(id, { path, title: 'new' }));
  }

  async #edit(
    branch: string,
    state: Map<string, ModelNode>,
    step: Extract<Step, { readonly do: 'update' | 'rename' | 'delete' | 'rewind' }>,
  ): Promise<void> {
    const ids = [...state.keys()];
    const id = ids[step.node % ids.length];
    if (id === undefined) return;
    const { path, title } = state.get(id) as ModelNode;
    if (step.do === 'update') {
      const { revision } = await this.#family.update(branch, path, step.title);
      if (revision === null) return;
      this.model.commit(branch, revision, state.set(id, { path, title: step.title }));
    } else if (step.do === 'rename') {
      // There and back again.
      const name = path.endsWith('-b') ? id : `${id}-b`;
      const { revision } = await this.#family.rename(branch, path, name);
      this.model.commit(branch, revision as string, state.set(id, { path: `/${name}`, title }));
    } else {
      const { revision } = await this.#family.delete(branch, path);
      state.delete(id);
      this.model.commit(branch, revision as string, state);
    }
  }

  async #fork(source: string, back: number): Promise<void> {
    if (this.branches.length >= BRANCHES_MAX) return;
    const branch = `${this.#name}-${this.branches.length}`;
    const history = this.model.firstParents(source);
    const revision = history[Math.min(back, history.length - 1)] as string;
    await this.#family.fork(branch, source, revision);
    this.model.fork(branch, source, revision);
    this.branches.push(branch);
  }

  async #rewind(branch: string, by: number): Promise<void> {
    const history = this.model.firstParents(branch);
    const revision = history[Math.min(by, history.length - 1)] as string;
    await this.#family.command(branch, { type: 'MoveHead', revision });
    this.model.place(branch, revision);
  }

  async #merge(target: string, source: string, winner: 'own' | 'other'): Promise<void> {
    if (target === source) return;
    const merged = this.model.merged(target, source, winner);
    const from = this.model.headOf(source);
    const revision = await this.#family.bringOver(target, source, winner);
    expect(revision === null).toBe(this.model.compare(target, source).behind === 0);
    if (revision !== null) this.model.commit(target, revision, merged, from);
  }

  /** Compares every pair with the model. */
  async check(): Promise<void> {
    for (const branch of this.branches) {
      for (const base of this.branches) {
        const { ahead, behind, bases } = this.model.compare(branch, base);
        const common_ancestor = bases[0] ?? '0-0';
        expect(await this.#family.compare(branch, base)).toEqual({ ahead, behind, common_ancestor });
        const found = await this.#family.diff(branch, base);
        expect(found.common_ancestor).toBe(common_ancestor);
        expect(flat(found), `${branch} against ${base}`).toEqual(sorted(this.model.diff(branch, base)));
      }
    }
  }
}

function flat(found: Difference): readonly unknown[] {
  const entries = [...found.added, ...found.modified, ...found.deleted];
  for (const { workspace } of entries) expect(workspace).toBe(WORKSPACE);
  return entries.map(({ node_id, operation, path }) => [node_id, operation, path]).sort();
}

function sorted(diff: ModelDiff): readonly unknown[] {
  return [...diff].map(([id, { operation, path }]) => [id, operation, path]).sort();
}

describe('branches of one repository', () => {
  let family: BranchFamily;
  let runs = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  it('compare and differ as full copies of every revision do, over forks of forks, merges and moved heads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 28 }), async (steps) => {
        runs += 1;
        const run = new Run(family, `r${runs}`);
        await run.begin();
        for (const one of steps) await run.take(one);
        await run.check();
      }),
      { numRuns: workloadCount(30) },
    );
  });
});
