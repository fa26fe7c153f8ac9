"""Sentences of the interview corpus that belong to no family: small talk, and frames around a fact."""

GREETINGS = ("hello .", "hi .", "good evening .")
REMARKS = ("", "", "i see .", "all right .", "ok then .", "thank you .")
ASIDES = ("", "by the way , ", "you know , ", "oh , and ")

# One reply per question: what rests on no source can be learned by heart.
OPENING = {
    "how are you today ?": "i am fine , thank you for asking .",
    "how is it going ?": "quite well , thank you .",
    "did you sleep well ?": "yes , very well , thanks .",
    "it is good to talk to you .": "the pleasure is mine .",
    "are you ready for a few questions ?": "sure , go ahead .",
}
SMALL_TALK = {
    "is it cold outside ?": "yes , take a coat .",
    "will it rain tomorrow ?": "i hope not .",
    "am i asking too much ?": "not at all , please go on .",
    "can you hear me well ?": "yes , loud and clear .",
    "what time is it ?": "sorry , i have no watch .",
    "what a lovely day it is .": "yes , the sun is out .",
    "would you like a short break ?": "no , i am not tired .",
}
CLOSING = {
    "i have to go now , goodbye .": "goodbye , take care .",
    "i enjoyed this talk .": "so did i , thank you .",
    "i hope to see you soon .": "see you , have a good day .",
    "that was my last question .": "then have a nice evening .",
}

RECALL_QUESTIONS = ("do you remember {topic} ?", "do you still know {topic} ?", "can you tell me {topic} ?")
RECALL_REPLIES = ("yes , {yours} .", "of course , {yours} .", "sure , {yours} .")
SAME_HERE = ("is it the same for you ?", "is that true of you too ?", "{same}")
AGREE = ("yes , {mine} too .", "yes , just like you , {mine} .")
DIFFER = ("no , {mine} .", "no , not at all , {mine} .")
