import fc from 'fast-check';
import {
  editedAlone,
  FOLDER,
  MODEL_ROOT,
  type ModelContent,
  type ModelEdit,
  type ModelNode,
  type ModelType,
} from './content-model.ts';

/** The node type whose definition a workload changes. */
export const ITEM = 'test:Item';

/** What a step may do to a branch as such; everything else is a {@link ModelEdit}. */
type BranchAction = 'fork' | 'rewind' | 'merge' | 'cross' | 'forward' | 'sweep' | 'commit';

/** One thing that happens. Numbers pick among what is there when the step is taken. */
export interface WorkloadStep {
  readonly do: ModelEdit['do'] | BranchAction;
  readonly on: number;
  readonly node: number;
  readonly other: number;
  /** One of few names, titles, codes and locales. */
  readonly word: number;
  readonly flag: boolean;
}

const weights: Readonly<Record<WorkloadStep['do'], number>> = {
  create: 6,
  update: 5,
  delete: 3,
  move: 6,
  rename: 4,
  reorder: 4,
  publish: 1,
  translate: 4,
  hide: 1,
  unhide: 1,
  untranslate: 1,
  like: 2,
  unlike: 1,
  define: 1,
  undefine: 1,
  fork: 3,
  rewind: 2,
  merge: 22,
  cross: 5,
  forward: 5,
  sweep: 1,
  commit: 5,
};

const pick = fc.nat({ max: 11 });
const word = fc.nat({ max: 2 });

/** Weights with which most of what happens is about types, and about nodes that suit them or not. */
export const typedWeights: Partial<Readonly<Record<WorkloadStep['do'], number>>> = {
  create: 14,
  update: 14,
  define: 10,
  undefine: 3,
  merge: 30,
};

/** Weights with which many commits give nodes each other's code, and what comes of it goes to and fro between branches. */
export const tradingWeights: Partial<Readonly<Record<WorkloadStep['do'], number>>> = {
  ...typedWeights,
  define: 4,
  undefine: 1,
  commit: 40,
  fork: 6,
  rewind: 5,
  cross: 10,
  forward: 10,
};

/** Steps after which two nodes of both first branches have a code, which must be unique. */
export const codedStart: readonly WorkloadStep[] = [
  { do: 'define', on: 0, node: 0, other: 1, word: 0, flag: false },
  { do: 'update', on: 0, node: 1, other: 1, word: 0, flag: false },
  { do: 'update', on: 0, node: 3, other: 2, word: 0, flag: false },
  { do: 'forward', on: 1, node: 0, other: 0, word: 0, flag: false },
];

/** Any sequence of steps. @param more other weights of some of them */
export function workloads(
  minLength: number,
  maxLength: number,
  more: typeof typedWeights = {},
): fc.Arbitrary<readonly WorkloadStep[]> {
  const actions = Object.entries({ ...weights, ...more }).map(([name, weight]) => ({
    weight,
    arbitrary: fc.constant(name as WorkloadStep['do']),
  }));
  const step = fc.record({
    do: fc.oneof(...actions),
    on: pick,
    node: pick,
    other: pick,
    word,
    flag: fc.boolean(),
  });
  return fc.array(step, { minLength, maxLength, size: 'max' });
}

/** The names nodes have: few, so that they meet at the same places. */
export const names = ['a', 'b', 'c'] as const;
const titles = ['x', 'y', 'z'] as const;
const locales = ['de', 'fr', 'de'] as const;
const codes = [null, '1', '2'] as const;

/** Odd ids are items, even ones folders: a node that is made again has the type it had. */
export function typeOf(id: string): string {
  return Number(id.slice(1)) % 2 === 1 ? ITEM : FOLDER;
}

/** The ids nodes have: few, so that the same one is made on several branches, or again after it was deleted. */
export const everyId = Array.from({ length: 8 }, (_, number) => `n${number}`);

/** One of some items, by a number of any size. */
export function at<T>(items: readonly T[], index: number): T {
  return items[index % items.length] as T;
}

/** One of the definitions of {@link ITEM}. */
export function typeFrom(number: number): ModelType {
  return { isUnique: (number & 1) === 1, isIndexed: (number & 2) === 2, isRequired: number === 4 };
}

/** Fills in what a step leaves open; undefined when there is nothing it could be done to. */
export function editFrom(
  step: WorkloadStep,
  action: ModelEdit['do'],
  content: ModelContent,
): ModelEdit | undefined {
  const { flag, other } = step;
  const name = at(names, step.word);
  if (action === 'define') return { do: action, name: ITEM, type: typeFrom(other % 5) };
  if (action === 'undefine') return { do: action, name: ITEM };
  const present = [...content.nodes.keys()].sort();
  const parents = [MODEL_ROOT, ...present];
  if (action === 'create') {
    const id = at(everyId, step.node);
    const fields = { nodeType: typeOf(id), title: at(titles, other), code: codeFor(id, step) };
    return { do: action, id, parentId: at(parents, other), name, ...fields };
  }
  if (present.length === 0) return undefined;
  const id = at(present, step.node);
  switch (action) {
    case 'update':
      return { do: action, id, title: at(titles, step.word), code: codeFor(id, step) };
    case 'delete':
      return { do: action, id };
    case 'move':
      return { do: action, id, parentId: at(parents, other), name };
    case 'rename':
      return { do: action, id, name };
    case 'reorder': {
      const { parentId } = content.nodes.get(id) as ModelNode;
      const siblings = present.filter((one) => content.nodes.get(one)?.parentId === parentId);
      return { do: action, id, sibling: at(siblings, other), isBefore: flag };
    }
    case 'publish':
      // Published nodes cannot be moved or deleted: mostly they are taken back.
      return { do: action, id, isPublished: other === 0, isTree: flag };
    case 'like':
      return { do: action, id, target: at(present, other), weight: step.word };
    case 'unlike':
      return { do: action, id, target: at(present, other) };
    case 'translate':
      return { do: action, id, locale: at(locales, step.word), value: at(titles, other) };
    default:
      return { do: action, id, locale: at(locales, step.word) };
  }
}

function codeFor(id: string, { other }: WorkloadStep): string | null {
  return typeOf(id) === FOLDER ? null : at(codes, other);
}

const committed = ['create', 'update', 'delete', 'move', 'rename'] as const;

/** The edits of a step that makes one revision of several, each on what those before it leave. */
export function editsFrom(step: WorkloadStep, content: ModelContent): readonly ModelEdit[] {
  const trade = step.flag ? tradeFrom(step, content) : [];
  // Mostly alone: most commits of several random edits are refused.
  if (trade.length > 0 && step.other % 4 !== 0) return trade;
  const edits: ModelEdit[] = [...trade];
  let present = edits.reduce(afterEdit, content);
  for (let index = 0; index < 2 + (step.other % 2); index++) {
    const { node, other, word } = step;
    const varied = { ...step, node: node + index * word, other: other + index, word: word + index };
    const edit = editFrom(varied, at(committed, node + other * (index + 1)), present);
    if (edit === undefined) continue;
    edits.push(edit);
    present = afterEdit(present, edit);
  }
  return edits;
}

/** Edits by which two nodes get each other's code; none when there are no two. */
function tradeFrom({ node, other }: WorkloadStep, { nodes }: ModelContent): readonly ModelEdit[] {
  const coded = [...nodes.values()].filter(({ code }) => code !== null);
  if (coded.length < 2) return [];
  const one = at(coded, node);
  const rest = coded.filter(({ id }) => id !== one.id);
  // Rather with a code that differs.
  const byCode = rest.toSorted((a, b) => Number(a.code === one.code) - Number(b.code === one.code));
  const second = at(byCode, other % 2);
  const taken = (to: ModelNode, from: ModelNode): ModelEdit => {
    return { do: 'update', id: to.id, title: to.title, code: from.code };
  };
  return [taken(one, second), taken(second, one)];
}

/** What one of several edits leaves to those after it; the same where it may not be done. */
export function afterEdit(content: ModelContent, edit: ModelEdit): ModelContent {
  const done = editedAlone(content, edit);
  return typeof done === 'string' ? content : done.content;
}
