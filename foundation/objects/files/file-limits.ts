/** How many files are worked on at one time: more do not make a disk faster, and each is an open file. */
export const AT_ONCE = 16;
