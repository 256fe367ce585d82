/** Characters of a path that a message shows, from its end. */
const SHOWN_PATH_MAX = 256;

/** The end of a path, for messages: the whole path of a node may be longer than a message. */
export function shownPath(path: string): string {
  return path.length > SHOWN_PATH_MAX ? `…${path.slice(-SHOWN_PATH_MAX)}` : path;
}
