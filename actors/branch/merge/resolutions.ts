import { invalid } from '#runtime/errors/service-error.ts';
import type { MergeConflict, MergeResolution } from '../merge-messages.ts';

/**
 * Resolutions, each to be taken by its conflict. A conflict is identified by the id of its node and its locale, and by
 * its workspace if two workspaces have nodes of the same id.
 */
export class Resolutions {
  readonly #given = new Map<string, Given[]>();

  /** @throws {ServiceError} `VALIDATION_FAILED` for two resolutions of one conflict */
  constructor(given: readonly MergeResolution[]) {
    for (const resolution of given) {
      const { locale, nodeId, workspace } = resolution;
      const key = aspectKey(nodeId, locale);
      const known = this.#given.get(key) ?? [];
      if (known.some((one) => one.resolution.workspace === workspace)) {
        throw invalid(`There are two resolutions for ${named(nodeId, locale)}`, { field: 'resolutions' });
      }
      known.push({ resolution, takenBy: undefined });
      this.#given.set(key, known);
    }
  }

  /**
   * The resolution of a conflict; undefined when there is none.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` when it could also apply to another conflict
   */
  take(conflict: MergeConflict): MergeResolution | undefined {
    const { node_id: id, path, translation_locale: locale, workspace } = conflict;
    const given = this.#given.get(aspectKey(id, locale));
    const found =
      given?.find(({ resolution }) => resolution.workspace === workspace) ??
      given?.find(({ resolution }) => resolution.workspace === undefined);
    if (found === undefined) return undefined;
    if (found.takenBy !== undefined && found.takenBy !== workspace) {
      throw invalid(
        `The resolution for ${named(id, locale)} is about '${path}' in ${place(workspace)} or in ` +
          `${place(found.takenBy)}; name its \`workspace\``,
        { field: 'resolutions' },
      );
    }
    found.takenBy = workspace;
    return found.resolution;
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` for a resolution that no conflict has taken */
  requireAllTaken(): void {
    for (const given of this.#given.values()) {
      for (const { resolution, takenBy } of given) {
        if (takenBy !== undefined) continue;
        const { locale, nodeId } = resolution;
        throw invalid(`There is no conflict about ${named(nodeId, locale)}`, { field: 'resolutions' });
      }
    }
  }
}

interface Given {
  readonly resolution: MergeResolution;
  /** Workspace of the conflict that took it, null for a definition; undefined: none did. */
  takenBy: string | null | undefined;
}

function aspectKey(id: string, locale: string | undefined): string {
  return `${id}\0${locale ?? ''}`;
}

function named(id: string, locale: string | undefined): string {
  return locale === undefined ? `'${id}'` : `'${id}' in ${locale}`;
}

function place(workspace: string | null): string {
  return workspace === null ? 'the schema' : `workspace '${workspace}'`;
}
