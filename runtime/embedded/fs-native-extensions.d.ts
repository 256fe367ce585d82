/** The part of `fs-native-extensions` that is used; the package has no types of its own. */
declare module 'fs-native-extensions' {
  /**
   * Takes a lock on a file without waiting: exclusive for a file opened for writing, or shared.
   *
   * @param descriptor of the file; the lock belongs to it and ends when it is closed
   * @returns whether it was granted
   */
  export function tryLock(descriptor: number, options?: { readonly shared?: boolean }): boolean;
}
