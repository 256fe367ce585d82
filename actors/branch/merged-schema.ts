import { SchemaResolver } from '#runtime/content/schema-resolver.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { type DefinitionOf, readDefinition, type StoredKind } from '#runtime/tree/schema-store.ts';
import type { BranchPair } from './branch-pair.ts';
import { requireSound } from './definitions.ts';
import type { EditScope } from './edit-scope.ts';
import type { DefinitionAddress } from './pair-messages.ts';

/**
 * The definitions of both sides of a merge have to resolve together as each did on its side: types may not come to
 * extend each other in a circle, nor something that the other side deleted. What did not resolve before a merge is
 * not its business.
 */
export class MergedSchema {
  readonly #edit: EditScope;
  readonly #pair: BranchPair;
  readonly #own: readonly DefinitionAddress[];
  readonly #brought: readonly DefinitionAddress[];

  /**
   * To be made before the merge writes anything.
   *
   * @param own what the target changed
   * @param brought what comes from the source
   */
  constructor(
    edit: EditScope,
    pair: BranchPair,
    own: readonly DefinitionAddress[],
    brought: readonly DefinitionAddress[],
  ) {
    this.#edit = edit;
    this.#pair = pair;
    this.#brought = brought;
    this.#own = own.filter((address) => this.#problemOf(address) === undefined);
  }

  /** To be called when the definitions are written. @throws {ServiceError} `VALIDATION_FAILED`, naming one */
  requireSound(): void {
    for (const address of this.#own) this.#require(address, () => true);
    for (const address of this.#brought) this.#require(address, () => this.#wasSoundThere(address));
  }

  #require(address: DefinitionAddress, wasSound: () => boolean): void {
    const problem = this.#problemOf(address);
    if (problem === undefined || !wasSound()) return;
    const what = address.kind.replace('_', ' ');
    throw invalid(`The merge would make ${what} '${address.name}' invalid: ${problem.message}`, {
      cause: problem,
    });
  }

  /** Why a definition does not resolve as the schema is now; undefined when it does, or is not there. */
  #problemOf({ kind, name }: DefinitionAddress): ServiceError | undefined {
    const definition = readDefinition(this.#edit.turn, kind, name);
    if (definition === undefined) return undefined;
    return problemIn(() => requireSound(this.#edit, kind, definition));
  }

  /** Whether a definition resolves on the source. */
  #wasSoundThere({ kind, name }: DefinitionAddress): boolean {
    const on =
      <K extends StoredKind>(family: K) =>
      (wanted: string): DefinitionOf[K] | undefined =>
        this.#pair.definitions('other', [{ kind: family, name: wanted }])[0]?.definition as
          | DefinitionOf[K]
          | undefined;
    const resolver = new SchemaResolver({
      nodeType: on('node_type'),
      archetype: on('archetype'),
      elementType: on('element_type'),
    });
    const resolve = { node_type: 'nodeType', archetype: 'archetype', element_type: 'elementType' } as const;
    return problemIn(() => void resolver[resolve[kind]](name)) === undefined;
  }
}

function problemIn(check: () => void): ServiceError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED') return error;
    throw error;
  }
}
