/** Format of an id: a UUID of version 7. */
const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Suffix of a repository's part of an actor id. */
const uidShape = /~([0-9a-f]{10})$/;

/** Length of a uid. */
const UID_CHARACTERS = 10;

/**
 * The id of a job: a UUID of version 7 whose last ten digits are the suffix of its repository. A job is requested by
 * its id alone, and every repository keeps its own jobs. Within one repository and millisecond 34 random bits
 * distinguish two jobs.
 *
 * @param uuid a fresh UUID of version 7
 * @param repositoryPart `{name}~{uid}` of the repository, as in actor ids
 */
export function jobIdOf(uuid: string, repositoryPart: string): string {
  const uid = uidShape.exec(repositoryPart)?.[1];
  return uid === undefined ? uuid : uuid.slice(0, -UID_CHARACTERS) + uid;
}

/** Hexadecimal digits and a hyphen at the beginning of an id, which are the milliseconds of its creation. */
const TIME_CHARACTERS = 13;

/** When a job was created, in milliseconds since the Unix epoch. */
export function jobCreatedMs(id: string): number {
  return Number.parseInt(id.slice(0, TIME_CHARACTERS).replace('-', ''), 16);
}

/** Whether a text can be the id of a job of a repository. @param repositoryPart `{name}~{uid}` */
export function mayBeJobOf(id: string, repositoryPart: string): boolean {
  return shape.test(id) && repositoryPart.endsWith(`~${id.slice(-UID_CHARACTERS)}`);
}
