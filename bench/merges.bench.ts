import {
  articleBody,
  articleProperties,
  articleUrl,
  branchesUrl,
  folderUrl,
  nodesUrlOf,
} from './support/corpus.ts';
import { type LoadRequest, sendAll } from './support/http-load.ts';
import type { Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { median, undisturbed } from './support/rounds.ts';
import { type LoadedGrove, progress } from './support/stage.ts';
import { milliseconds, whole } from './support/table.ts';

const SOURCE = 'source';
const TARGET = 'main';

/** Updates of articles in the source for each created article. */
const UPDATES_PER_CREATE = 9;

/** Changes of the source for each change of the target, which is of another node. */
const SOURCE_CHANGES_PER_TARGET_CHANGE = 10;

/** A prime, so that steps of this size visit every article before any is repeated. */
const STRIDE = 7_919;

const WARM_UPS = 3;
const WARM_UP_CHANGES = 100;

const works = ['compare', 'diff', 'merge'] as const;

/** Duration of each operation, in milliseconds. */
type Times = Record<(typeof works)[number], number>;

/** Does the cost of comparing and merging branches depend on their changes, or on their size? */
export const merges: Question = {
  name: 'merges',
  title: 'Compare, diff and merge',
  async measure(plan, stage) {
    const reports: { readonly size: number; readonly times: ReadonlyMap<number, readonly Times[]> }[] = [];
    for (const size of plan.sizes) {
      const grove = await stage.sizedGrove(size);
      const pair = new Pair(grove);
      await pair.fork();
      for (let run = 0; run < WARM_UPS; run++) await pair.measure(WARM_UP_CHANGES);
      const times = new Map<number, Times[]>();
      for (const changes of plan.changes) {
        progress(`merging ${whole(changes)} changes into ${whole(size)} nodes`);
        const rounds: Times[] = [];
        for (let round = 0; round < plan.rounds; round++) {
          rounds.push(await undisturbed(plan.disturbance, () => pair.measure(changes)));
        }
        times.set(changes, rounds);
      }
      await stage.discard(grove);
      reports.push({ size, times });
    }
    return describe(plan.changes, reports);
  },
};

/** The main branch and a fork that is edited, merged, and updated from it again. */
class Pair {
  readonly #grove: LoadedGrove;
  /** Number of the article to change next. */
  #next = 0;
  #made = 0;

  constructor(grove: LoadedGrove) {
    this.#grove = grove;
  }

  async fork(): Promise<void> {
    await this.#grove.server.json('POST', branchesUrl, { name: SOURCE, upstream_branch: TARGET });
  }

  /**
   * Changes both branches, then compares and merges them.
   *
   * @throws {Error} when the answers do not report exactly these changes
   */
  async measure(changes: number): Promise<Times> {
    const { server } = this.#grove;
    await this.#change(SOURCE, changes);
    await this.#change(TARGET, Math.ceil(changes / SOURCE_CHANGES_PER_TARGET_CHANGE));
    const compare = await server.timed('GET', `${branchesUrl}/${SOURCE}/compare/${TARGET}`);
    const diff = await server.timed('GET', `${branchesUrl}/${SOURCE}/diff/${TARGET}`);
    const merge = await server.timed('POST', `${branchesUrl}/${TARGET}/merge`, { source_branch: SOURCE });
    const { ahead } = JSON.parse(compare.text) as { ahead: number };
    const { added, modified } = JSON.parse(diff.text) as Record<'added' | 'modified', unknown[]>;
    const merged = JSON.parse(merge.text) as { success: boolean; nodes_changed: number };
    const seen = [ahead, added.length + modified.length, merged.nodes_changed];
    if (!merged.success || seen.some((number) => number !== changes)) {
      throw new Error(
        `of ${changes} changes compare, diff and merge tell ${seen}: ${merge.text.slice(0, 500)}`,
      );
    }
    await server.json('POST', `${branchesUrl}/${SOURCE}/merge`, {
      source_branch: TARGET,
      strategy: 'FastForward',
    });
    return { compare: compare.ms, diff: diff.ms, merge: merge.ms };
  }

  async #change(branch: string, changes: number): Promise<void> {
    const { articles, server } = this.#grove;
    const updates = changes - Math.floor(changes / (UPDATES_PER_CREATE + 1));
    if (updates > articles) throw new Error(`${updates} updates are too many for ${articles} articles`);
    await sendAll(server.port, server.token, this.#changes(nodesUrlOf(branch), changes));
  }

  *#changes(nodes: string, count: number): Generator<LoadRequest> {
    for (let index = 1; index <= count; index++) {
      const number = (this.#next * STRIDE) % this.#grove.articles;
      // Unique values, so that every update is a change.
      const serial = 1_000_000_000 + this.#made++;
      if (index % (UPDATES_PER_CREATE + 1) === 0) {
        yield { method: 'POST', path: folderUrl(nodes, number), body: articleBody(`m-${serial}`, serial) };
        continue;
      }
      this.#next += 1;
      const body = JSON.stringify({ properties: articleProperties(serial) });
      yield { method: 'PUT', path: articleUrl(nodes, number), body };
    }
  }
}

function describe(
  changes: readonly number[],
  reports: readonly { readonly size: number; readonly times: ReadonlyMap<number, readonly Times[]> }[],
): Answer {
  const rows: string[][] = [];
  for (const work of works) {
    for (const count of changes) {
      const columns = reports.map(({ times }) => (times.get(count) ?? []).map((one) => one[work]));
      const [first, last] = [columns[0] ?? [], columns.at(-1) ?? []];
      const growth = (median(last) / median(first)).toFixed(2);
      rows.push([work, whole(count), ...columns.map(milliseconds), growth]);
    }
  }
  return {
    columns: ['', 'changes', ...reports.map(({ size }) => `${whole(size)} nodes`), 'last / first'],
    rows,
    notes: [
      `Timed over HTTP. Every change is a request and a revision of its own, nine updates of any article to one create; the target has a tenth as many changes of other nodes, so that no merge is a fast-forward and none has conflicts. Diff answers all changes, merge writes them as one revision. A merge takes the target's writes in turn: others wait for it, reads do not.`,
    ],
  };
}
