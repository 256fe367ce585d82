import type { ScanSource } from '#runtime/scan/scan.ts';

/** Where the nodes come from that may be rows. They come in this order, each node once. */
export type RowSource =
  | { readonly kind: 'none' }
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'paths'; readonly paths: readonly string[] }
  | {
      readonly kind: 'scans';
      readonly parts: readonly ScanPart[];
      /** A property by whose text the nodes are sorted: by an index, which does not tell long texts apart. */
      readonly sortedBy?: { readonly property: string; readonly reverse: boolean };
    };

/** A scan, or a part of one. Parts of one source have no node in common. */
export interface ScanPart {
  readonly source: ScanSource;
  readonly reverse: boolean;
  /** The position behind which it begins. */
  readonly after?: string | undefined;
  /**
   * Whether its rows come in the order that is asked for, where those of all parts do not: behind one that is not among the first
   * of the order none of it is. Absent: they do not.
   */
  readonly isInOrder?: boolean | undefined;
  /** Of a source in the order of paths: whether a path is behind the last one, so that the scan ends. */
  readonly isBehind?: ((path: string) => boolean) | undefined;
}

/** A whole source from its first node on. */
export function wholeSource(source: ScanSource, reverse = false): RowSource {
  return { kind: 'scans', parts: [{ source, reverse }] };
}
