/** The part of `fs-native-extensions` in use; the package has no types of its own. */
declare module 'fs-native-extensions' {
  /**
   * Takes a lock on a file, without waiting: an exclusive one of a file opened for writing, or a shared one.
   *
   * @param descriptor of the file; the lock belongs to it and ends when it is closed
   * @returns whether it was granted
   */
  export function tryLock(descriptor: number, options?: { readonly shared?: boolean }): boolean;
}
