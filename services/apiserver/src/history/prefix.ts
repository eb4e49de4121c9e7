/** A key begins with the prefix of its resource. */
export const prefixOf = (key: string): string => key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1);
