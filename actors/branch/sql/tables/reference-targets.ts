import { parsePath } from '#runtime/content/path.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** A node that `REFERENCES` names. */
export interface ReferencePlace {
  readonly workspace: string;
  readonly path: string;
}

/**
 * Reads the argument of `REFERENCES`.
 *
 * @param text `workspace:/path`
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function parseReferencePlace(text: string): ReferencePlace {
  // The name of a workspace may have a colon.
  const colon = text.indexOf(':/');
  if (colon <= 0) throw invalid("REFERENCES argument must be in 'workspace:/path' format");
  return { workspace: text.slice(0, colon), path: parsePath(text.slice(colon + 1)) };
}
