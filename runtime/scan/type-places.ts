import { textBytes } from '#runtime/shard/binary-key.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { IndexedSource } from './indexed-source.ts';
import { type Moment, PresentState } from './moment.ts';
import { PathPlaces, type PathSelection } from './path-places.ts';
import type { PlaceSource } from './places.ts';

/** Nodes of one type in the order of their paths, by the table of types. The position is the path. */
export class TypePlaces implements IndexedSource {
  readonly rows: PlaceSource;
  readonly #moment: Moment;
  readonly #selection: PathSelection;
  /** What the path of each begins with. */
  readonly #base: string;

  constructor(moment: Moment, selection: PathSelection) {
    const { below = '/' } = selection;
    this.#moment = moment;
    this.#selection = selection;
    this.#base = below === '/' ? '/' : `${below}/`;
    this.rows = new PathPlaces(new PresentState(moment.reader), selection);
  }

  get workspace(): string {
    return this.#selection.workspace;
  }

  hasAll(): boolean {
    return true;
  }

  *positionOf({ nodeType, path }: NodeRecord): Generator<undefined, string | undefined> {
    const isTooDeep = (): boolean =>
      this.#selection.isChildren === true && path.includes('/', this.#base.length);
    if (nodeType !== this.#selection.nodeType || !path.startsWith(this.#base) || isTooDeep())
      return undefined;
    return textBytes(path);
  }

  withoutTable(): PlaceSource {
    return new PathPlaces(this.#moment, this.#selection);
  }
}
