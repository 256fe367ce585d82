/** The part of `fs-native-extensions` in use; the package has no types of its own. */
declare module 'fs-native-extensions' {
  /**
   * Takes an exclusive lock on a file opened for writing, without waiting.
   *
   * @param descriptor of the file; the lock belongs to it and ends when it is closed
   * @returns whether it was granted
   */
  export function tryLock(descriptor: number): boolean;
}
