import { invalid } from '#runtime/errors/service-error.ts';
import type { AggregateFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';

/** An aggregate of the catalog. */
export interface AggregateDefinition {
  readonly name: string;
  /** Fewest arguments. */
  readonly least: number;
  /** Most arguments. */
  readonly most: number;
  /** @throws {ServiceError} `VALIDATION_FAILED` for types that it is not for */
  readonly resolve: (types: readonly SqlType[]) => AggregateFunction;
}

/** Limit of what an aggregate keeps for its result, in bytes of memory. */
const RESULT_BYTES_MAX = 16 * 1024 * 1024;

/** The bytes that a result has so far, refused above 16 MiB. */
export class ResultSize {
  readonly #name: string;
  #bytes = 0;

  /** @param name of the aggregate, for the message */
  constructor(name: string) {
    this.#name = name;
  }

  /** Takes room for more. @returns the bytes @throws {ServiceError} `VALIDATION_FAILED` above 16 MiB */
  grow(bytes: number): number {
    this.#bytes += bytes;
    if (this.#bytes > RESULT_BYTES_MAX) throw invalid(`${this.#name} result is longer than 16 MiB`);
    return bytes;
  }
}
