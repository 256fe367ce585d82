/**
 * JSON that is already text, in pieces: a long answer that was made in slices. Joined in one step, 50 MB take tens of
 * milliseconds.
 */
export class JsonPieces {
  readonly pieces: readonly string[];

  constructor(pieces: readonly string[]) {
    this.pieces = pieces;
  }
}
