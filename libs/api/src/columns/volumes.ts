const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** Formats `RWO,ROX`, always in this order and without duplicates. */
export const accessModesText = (modes: readonly string[] | undefined): string =>
  Object.entries(SHORT)
    .filter(([mode]) => modes?.includes(mode) === true)
    .map(([, short]) => short)
    .join(',');
