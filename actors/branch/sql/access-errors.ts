import { ServiceError } from '#runtime/errors/service-error.ts';

/** What messages call the things that statements of access name. */
export type AccessNoun = 'Role' | 'Group' | 'User';

/** The error for something that is not there, or that the caller may not read. @returns `NOT_FOUND` */
export function accessNotFound(noun: AccessNoun, name: string): ServiceError {
  return new ServiceError('NOT_FOUND', `${noun} '${name}' not found`);
}

/** The error for something that is there already. @returns `ALREADY_EXISTS` */
export function accessExists(noun: AccessNoun, name: string): ServiceError {
  return new ServiceError('ALREADY_EXISTS', `${noun} '${name}' already exists`);
}
